"""CloudFormation's functions: what a template and its parameters decide, and what stays unknown."""

from __future__ import annotations

from typing import Any

import pytest

from keyplan.importers.intrinsics import NO_VALUE, Resolver
from keyplan.importers.nodes import UnresolvedValue

TEMPLATE: dict[str, Any] = {
    "Parameters": {
        "Stage": {"Type": "String", "Default": "prod"},
        "Names": {"Type": "CommaDelimitedList", "Default": "a, b"},
        "Open": {"Type": "String"},
        "Looked": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/name"},
        "Units": {"Type": "Number", "Default": 5},
        "Sizes": {"Type": "List<Number>", "Default": "1, 2 ,3"},
        "Plain": {"Default": "x, y"},
        "Odd": {"Type": "CommaDelimitedList", "Default": 5},
    },
    "Mappings": {"Sizes": {"prod": {"read": 20}}},
    "Conditions": {
        "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
        "IsOpen": {"Fn::Equals": [{"Ref": "Open"}, "x"]},
        "Either": {"Fn::Or": [{"Condition": "IsOpen"}, {"Condition": "IsProd"}]},
        "Both": {"Fn::And": [{"Condition": "IsOpen"}, {"Condition": "IsProd"}]},
        "NotProd": {"Fn::Not": [{"Condition": "IsProd"}]},
        "Loop": {"Fn::Not": [{"Condition": "Loop"}]},
        "True": {"Fn::Equals": [True, "true"]},
        "Never": {"Fn::And": [{"Condition": "IsOpen"}, {"Condition": "NotProd"}]},
        "NoneOf": {"Fn::Or": [{"Condition": "NotProd"}, {"Condition": "NotProd"}]},
        "All": {"Fn::And": [{"Condition": "IsProd"}, {"Condition": "IsProd"}]},
        "NoOr": {"Fn::Or": "IsProd"},
        "NoAnd": {"Fn::And": []},
        "NoNot": {"Fn::Not": {"Condition": "IsProd"}},
        "TwoNots": {"Fn::Not": [{"Condition": "IsProd"}, {"Condition": "IsProd"}]},
        "NoEquals": {"Fn::Equals": [{"Ref": "Stage"}]},
    },
    "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
}


def resolved(value: Any, **parameters: str) -> Any:
    return Resolver(TEMPLATE, parameters).resolve(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"Ref": "Stage"}, "prod"),
        ({"Ref": "Units"}, 5),
        ({"Ref": "Names"}, ["a", "b"]),
        ({"Ref": "AWS::Partition"}, "aws"),
        ({"Ref": "AWS::URLSuffix"}, "amazonaws.com"),
        ({"Ref": "Sizes"}, ["1", "2", "3"]),
        ({"Ref": "Plain"}, "x, y"),
        ({"Ref": "Odd"}, 5),
        ({"Fn::Sub": "${Units}-${!a}${AWS::Partition}"}, "5-${a}aws"),
        ({"Fn::Sub": ["${t}", {"t": True}]}, "true"),
        ({"Fn::Join": ["", []]}, ""),
        ({"Fn::Join": ["-", [True, 1]]}, "true-1"),
        ({"Fn::Select": [2, [1, 2, 3]]}, 3),
        ({"Fn::Split": ["--", "a--b-c"]}, ["a", "b-c"]),
        ({"Fn::FindInMap": ["Sizes", "dev", "read", {"DefaultValue": {"Ref": "Units"}}]}, 5),
        ({"Fn::FindInMap": ["Sizes", "prod", "read", {"DefaultValue": 5}]}, 20),
        ({"Fn::If": ["True", 1, 2]}, 1),
        ({"Fn::If": ["Never", 1, 2]}, 2),
        ({"Fn::If": ["NoneOf", 1, 2]}, 2),
        ({"Fn::If": ["All", 1, 2]}, 1),
        ({5: {"Ref": "Stage"}}, {5: "prod"}),
        ({"Fn": 1}, {"Fn": 1}),
        ({"Fn::Sub": "x-${Stage}-${!Literal}"}, "x-prod-${Literal}"),
        ({"Fn::Sub": ["${a}-${Stage}", {"a": {"Ref": "Units"}}]}, "5-prod"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Stage"}]]}, "a-prod"),
        ({"Fn::Join": ["+", {"Ref": "Names"}]}, "a+b"),
        ({"Fn::Select": ["1", {"Ref": "Names"}]}, "b"),
        ({"Fn::Select": [0, {"Fn::Split": ["-", "x-y"]}]}, "x"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "read"]}, 20),
        ({"Fn::If": ["IsProd", 1, 2]}, 1),
        ({"Fn::If": ["NotProd", 1, 2]}, 2),
        ({"Fn::If": ["Either", 1, 2]}, 1),
        ({"a": {"Ref": "AWS::NoValue"}, "b": 1}, {"b": 1}),
        ([1, {"Fn::If": ["NotProd", 2, {"Ref": "AWS::NoValue"}]}], [1]),
        ({"Ref": "AWS::NoValue"}, NO_VALUE),
        ({"deep": [{"Ref": "Stage"}]}, {"deep": ["prod"]}),
    ],
)
def test_functions_are_resolved(value: Any, expected: Any) -> None:
    assert resolved(value) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"Ref": "Open"}, "parameter Open has no default: pass --parameter Open=VALUE"),
        ({"Ref": "Looked"}, "parameter Looked is resolved in Parameter Store: pass --parameter Looked=VALUE"),
        ({"Ref": "Topic"}, "Topic is a resource, and its name is known only after it is created"),
        ({"Ref": "AWS::Region"}, "AWS::Region has no value: pass --parameter AWS::Region=VALUE"),
        ({"Ref": "Nothing"}, "the template does not declare 'Nothing'"),
        ({"Ref": ["Stage"]}, "Ref expects a name, got ['Stage']"),
        ({"Fn::GetAtt": ["Topic", "Arn"]}, "Fn::GetAtt cannot be determined from the template alone"),
        ({"Fn::Sub": "${Topic.Arn}"}, "Topic.Arn is known only after the resource is created"),
        ({"Fn::Sub": 5}, "Fn::Sub has no text"),
        ({"Fn::Sub": ["${Stage}"]}, "Fn::Sub has no text"),
        ({"Fn::Sub": ["${a}-${Open}", {"a": {"Ref": "Looked"}}]}, "parameter Looked is resolved in Parameter Store"),
        ({"Fn::Join": [1, ["a"]]}, "Fn::Join expects a separator and a list"),
        ({"Fn::Join": ["-", ["a"], ["b"]]}, "Fn::Join expects a separator and a list"),
        ({"Fn::Join": {0: "-", 1: ["a"]}}, "Fn::Join expects a separator and a list"),
        ({"Fn::Join": ["-", {"Ref": "Open"}]}, "parameter Open has no default: pass --parameter Open=VALUE"),
        ({"Fn::Split": [1, "x"]}, "Fn::Split expects a separator and a text"),
        ({"Fn::Split": ["-", 5]}, "Fn::Split expects a separator and a text"),
        ({"Fn::Split": ["-", {"Ref": "Open"}]}, "parameter Open has no default: pass --parameter Open=VALUE"),
        ({"Fn::Select": [0, {"Ref": "Open"}]}, "parameter Open has no default: pass --parameter Open=VALUE"),
        ({"Fn::Select": ["\u00b2", ["a", "b", "c"]]}, "Fn::Select: no value at '\u00b2'"),
        ({"Fn::Select": ["one", ["a"]]}, "Fn::Select: no value at 'one'"),
        ({"Fn::Select": [2, {"Ref": "Names"}]}, "Fn::Select: no value at 2"),
        ({"Fn::Select": [-1, {"Ref": "Names"}]}, "Fn::Select: no value at -1"),
        ({"Fn::Select": [0, "text"]}, "Fn::Select: no value at 0"),
        ({"Fn::Select": {0: 0, 1: ["a"]}}, "Fn::Select expects a number and a list"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Open"}, "read"]}, "parameter Open has no default"),
        ({"Fn::FindInMap": ["Sizes", "prod"]}, "Fn::FindInMap: no value at ['Sizes', 'prod']"),
        ({"Fn::FindInMap": "Siz"}, "Fn::FindInMap: no value at 'Siz'"),
        ({"Fn::FindInMap": ["Sizes", "dev", "read", {"Default": 1}]}, "Fn::FindInMap: no value at ['Sizes', 'dev"),
        (
            {"Fn::FindInMap": ["Sizes", "dev", "read", {"DefaultValue": {"Ref": "Open"}}]},
            "parameter Open has no default",
        ),
        ({"Fn::If": {0: "IsProd", 1: 1, 2: 2}}, "Fn::If expects a condition and two values"),
        ({"Fn::If": [["IsProd"], 1, 2]}, "the template has no condition ['IsProd']"),
        ({"Fn::If": ["NoOr", 1, 2]}, "the condition NoOr cannot be evaluated: Fn::Or expects conditions"),
        ({"Fn::If": ["NoAnd", 1, 2]}, "the condition NoAnd cannot be evaluated: Fn::And expects conditions"),
        ({"Fn::If": ["NoNot", 1, 2]}, "the condition NoNot cannot be evaluated: Fn::Not expects one condition"),
        (
            {"Fn::If": ["TwoNots", 1, 2]},
            "the condition TwoNots cannot be evaluated: Fn::Not expects one condition",
        ),
        ({"Fn::If": ["NoEquals", 1, 2]}, "the condition NoEquals cannot be evaluated: expected two values, got"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Open"}]]}, "parameter Open has no default: pass --parameter Open=VALUE"),
        ({"Fn::Join": "x"}, "Fn::Join expects a separator and a list"),
        ({"Fn::Join": ["-", "x"]}, "Fn::Join expects a list"),
        ({"Fn::Split": ["", "x"]}, "Fn::Split expects a separator and a text"),
        ({"Fn::Split": ["-"]}, "expected two values, got ['-']"),
        ({"Fn::Select": [7, {"Ref": "Names"}]}, "Fn::Select: no value at 7"),
        ({"Fn::Select": [0]}, "Fn::Select expects a number and a list"),
        ({"Fn::FindInMap": ["Sizes", "dev", "read"]}, "Fn::FindInMap: no value at ['Sizes', 'dev', 'read']"),
        ({"Fn::If": ["IsOpen", 1, 2]}, "the condition IsOpen cannot be evaluated: parameter Open has no default: pass"),
        (
            {"Fn::If": ["Both", 1, 2]},
            "the condition Both cannot be evaluated: the condition IsOpen cannot be evaluated",
        ),
        ({"Fn::If": ["Loop", 1, 2]}, "the condition Loop cannot be evaluated: the condition 'Loop' depends on itself"),
        ({"Fn::If": ["None", 1, 2]}, "the template has no condition 'None'"),
        ({"Fn::If": [1]}, "Fn::If expects a condition and two values"),
        ("{{resolve:ssm:/name}}", "{{resolve:ssm:/name}} is resolved when the stack is created"),
    ],
)
def test_an_unresolved_function_has_a_reason(value: Any, reason: str) -> None:
    actual_value = resolved(value)
    assert isinstance(actual_value, UnresolvedValue)
    assert actual_value.reason.startswith(reason)


def test_given_parameters_override_defaults_and_pseudo_parameters() -> None:
    assert (
        resolved({"Fn::Sub": "${Stage}-${AWS::Region}"}, Stage="dev", **{"AWS::Region": "eu-west-1"}) == "dev-eu-west-1"
    )
    assert resolved({"Fn::If": ["Both", 1, 2]}, Open="x") == 1


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("AWS::SSM::Parameter::Value<List<String>>", ["a", "b"]),
        ("AWS::SSM::Parameter::Value<CommaDelimitedList>", ["a", "b"]),
        ("AWS::SSM::Parameter::Value<String>", "a, b"),
        ("List<String>", ["a", "b"]),
        ("String", "a, b"),
    ],
)
def test_a_list_parameter_is_split(kind: str, value: object) -> None:
    assert Resolver({"Parameters": {"Names": {"Type": kind}}}, {"Names": "a, b"}).resolve({"Ref": "Names"}) == value
