"""Mistakes that a type checker must find: every line marked `# wrong` is an error, and no other."""

from __future__ import annotations

from datetime import datetime

from right import (
    Task,
    TaskId,
    TaskTitle,
    UserId,
    add_counted,
    add_task,
    app,
    edit,
    finish,
    open_tasks,
    task,
    task_title,
    tasks_due,
)

from keyplan import ItemKey, ItemWrite, KeyCondition, Page, View, connect, item, pk

user_id, task_id, now = UserId("u"), TaskId("t"), datetime.now()
db = connect(":memory:")

tasks_due(task_id, now)  # wrong
finish(task_id, user_id)  # wrong
finish("u", task_id)  # wrong
finish(user_id)  # wrong
edit(user_id, task_id, title=None)  # wrong
edit(user_id, task_id, titel="x")  # wrong
finish(user_id, taskid=task_id)  # wrong
tasks_due(user_id, before="tomorrow")  # wrong
tasks_due(user_id, now, 3)  # wrong
add_task({"user_id": user_id})  # wrong
title: str = db.run(task(user_id, task_id)).title  # wrong
page: Page[Task] = db.run(open_tasks(user_id))  # wrong
db.run(task(user_id, task_id), limit=3)  # wrong
db.transact(task(user_id, task_id))  # wrong
db.run(add_counted(user_id, user_id))  # wrong
db.create({"user_id": user_id})  # wrong
db.get(task, user_id=user_id, task_id=task_id)  # wrong
name: str = db.get(Task, user_id=user_id, task_id=task_id).title  # wrong
db.get(Task, user_id=user_id, task_id=task_id, consistent="yes")  # wrong
db.query(Task)  # wrong
db.query(Task, pk(user_id=user_id), limt=3)  # wrong
db.all(Task)  # wrong
db.all(Task, pk(user_id=user_id), limit=3)  # wrong
db.iterate(Task, pk(user_id=user_id), at_most=3)  # wrong
db.count(TaskTitle, pk(user_id=user_id))  # wrong
db.count(Task, pk(user_id=user_id), descending=True)  # wrong
other: Page[str] = db.query(Task, pk(user_id=user_id))  # wrong

due = db.run(task_title(user_id, task_id)).due_at  # wrong


@app.put(TaskTitle)  # wrong
def view_written(title: TaskTitle) -> ItemWrite:
    return item(title)


class ViewOfText(View[str]):  # wrong
    title: str


@app.get(Task)  # wrong
def not_a_key(user_id: UserId) -> KeyCondition:
    return pk(user_id=user_id)


@app.get(Task, decides="luck", guards="finish")  # wrong
def unknown_decision(user_id: UserId, task_id: TaskId) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)


@app.get(Task, decides="state", guards=finish)  # wrong
def guards_without_a_name(user_id: UserId, task_id: TaskId) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)


@app.query(Task, indx="due")  # wrong
def misspelt_option(user_id: UserId) -> KeyCondition:
    return pk(user_id=user_id)


@app.query(Task)  # wrong
def not_a_condition(user_id: UserId, task_id: TaskId) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)
