"""Converts between Arrow tables and the lake's Parquet files.

The name of a file contains a digest of its content and the generation of the lake. The name of a bronze file also
contains the first position of its events. If the same rows are written again, the same file is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from keyplan_systems.todo.lake.snapshot import DataFile, Snapshot
from keyplan_systems.todo.lake.storage import Storage

_FOLDERS = {"bronze": "bronze/date={}", "users": "silver/users/bucket={}", "tasks": "silver/tasks/bucket={}"}
DATA_FOLDERS = ("bronze", "silver", "gold", "baseline")
"""Names of the folders that contain data files."""

_ROW_GROUP = 65_536
"""Number of rows per row group. Row groups are small, so that a search for a few positions skips most of a compacted
file.
"""


def put(storage: Storage, base: Snapshot, table: Any, kind: str, partition: str, *, name: str = "") -> DataFile:
    """Write a table as a data file for the version after `base`, and return the file. `kind` and `partition` are
    described in `DataFile`.
    """
    body = encode(table)
    digest = hashlib.sha256(body).hexdigest()[:24]
    stem = "-".join(part for part in (name, digest, f"g{base.generation}") if part)
    path = f"{_folder(kind, partition)}/{stem}.parquet"
    storage.put(path, body)
    return DataFile(path, kind, partition, table.num_rows, len(body), base.version + 1)


def generation_of(path: str) -> int | None:
    """Return the generation in the path of a data file, or None if the path does not contain one."""
    generation = path.removesuffix(".parquet").rpartition("-g")[2]
    return int(generation) if generation.isdecimal() else None


def encode(table: Any) -> bytes:
    """Return a table in Parquet format. The same table always gives the same bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=_ROW_GROUP)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def read(storage: Storage, file: DataFile, columns: Sequence[str] | None = None, row_filter: Any = None) -> Any:
    """Return the rows of a data file as an Arrow table. Raises FileNotFoundError if the file does not exist.

    `columns` contains the names of the columns to read, and `row_filter` is an Arrow expression that selects rows. If
    `columns` is None, all columns are returned. If `row_filter` is None, all rows are returned.
    """
    fragment = ds.ParquetFileFormat().make_fragment(file.path, storage.arrow)
    return fragment.to_table(columns=None if columns is None else list(columns), filter=row_filter, use_threads=False)


def dataset(storage: Storage, files: Iterable[DataFile], schema: Any, partition: str | None = None) -> Any:
    """Return the data files as one Arrow dataset. If `partition` is given, the dataset has a column of this name, which
    contains the partition of each file.
    """
    file_format = ds.ParquetFileFormat()
    fragments = [
        file_format.make_fragment(
            file.path,
            storage.arrow,
            partition_expression=None if partition is None else ds.field(partition) == pa.scalar(file.partition),
        )
        for file in files
    ]
    if partition is not None:
        schema = schema.append(pa.field(partition, pa.string()))
    return ds.FileSystemDataset(fragments, schema, file_format, storage.arrow)


def rows(storage: Storage, files: Iterable[DataFile], schema: Any, partition: str | None = None) -> Any:
    """Read all rows of the data files into one Arrow table in memory. Raises FileNotFoundError if a file does not
    exist.
    """
    tables = []
    for file in files:
        stored_table = pq.read_table(pa.BufferReader(storage.read(file.path)))
        columns = [
            stored_table[field.name].cast(field.type)
            if field.name in stored_table.column_names
            else pa.nulls(len(stored_table), field.type)
            for field in schema
        ]
        table = pa.Table.from_arrays(columns, schema=schema)
        if partition is not None:
            partition_column = pa.array([file.partition] * len(stored_table), pa.string())
            table = table.append_column(pa.field(partition, pa.string()), partition_column)
        tables.append(table)
    return pa.concat_tables(tables)


def _folder(kind: str, partition: str) -> str:
    if kind in _FOLDERS:
        return _FOLDERS[kind].format(partition)
    return f"baseline/{partition}" if kind == "staged" else f"gold/{kind}"
