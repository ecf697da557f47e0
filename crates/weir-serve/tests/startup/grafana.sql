# What Grafana's source for PostgreSQL asks: which server it is, and what its query builder lists.

# "save and test", and the versions that it goes by
SELECT 1

SELECT current_setting('server_version_num')::int/100 as version

SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'

# schemas
SELECT schema_name AS "name" FROM information_schema.schemata WHERE schema_name NOT IN ('information_schema', 'pg_catalog', 'pg_toast') ORDER BY schema_name

# tables of a schema, and of those of the search path
SELECT quote_ident(table_name) AS "table" FROM information_schema.tables WHERE quote_ident(table_schema) = 'public' ORDER BY 1

SELECT CASE WHEN quote_ident(table_schema) IN (
    SELECT CASE WHEN trim(p[n]) = '"$user"' THEN user ELSE trim(p[n]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS n,
      string_to_array(current_setting('search_path'), ',') p
  ) THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog') ORDER BY 1

# columns of a table
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
WHERE CASE WHEN array_length(parse_ident('office'), 1) = 2 THEN quote_ident(table_schema) = (parse_ident('office'))[1] ELSE quote_ident(table_name) = 'office' END
