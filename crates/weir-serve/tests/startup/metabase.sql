# What Metabase asks over pgjdbc when a database is added and synchronized.

# settings
SET extra_float_digits = 2

SET application_name = 'Metabase v0.56.0'

SHOW TRANSACTION ISOLATION LEVEL

SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED

show timezone

# schemas, by pgjdbc's getSchemas
SELECT nspname AS "TABLE_SCHEM", current_database() AS "TABLE_CATALOG" FROM pg_catalog.pg_namespace WHERE nspname <> 'pg_toast' AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1]) ORDER BY "TABLE_SCHEM"

# what may be read
with privileges as (
  select NULL as role, t.schemaname as schema, t.objectname as table,
    pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"', 'update') as update,
    pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"', 'select') as select,
    pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"."' || t.objectname || '"', 'delete') as delete
  from (
    select schemaname, tablename as objectname from pg_catalog.pg_tables
    union
    select schemaname, viewname as objectname from pg_catalog.pg_views
    union
    select schemaname, matviewname as objectname from pg_catalog.pg_matviews
  ) t
  where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')
)
select p.* from privileges p

# tables
SELECT "n"."nspname" AS "schema", "c"."relname" AS "name", CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' ELSE NULL END AS "type", "d"."description" AS "description", "s"."n_live_tup" AS "estimated_row_count"
FROM "pg_catalog"."pg_class" AS "c"
INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
LEFT JOIN "pg_catalog"."pg_description" AS "d" ON ("c"."oid" = "d"."objoid") AND ("d"."objsubid" = '0') AND ("d"."classoid" = 'pg_class'::regclass)
LEFT JOIN "pg_stat_user_tables" AS "s" ON ("n"."nspname" = "s"."schemaname") AND ("c"."relname" = "s"."relname")
WHERE ("n"."nspname" !~ '^pg_') AND ("n"."nspname" <> 'information_schema') AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND ("n"."nspname" IN ('public'))
ORDER BY "type" ASC, "schema" ASC, "name" ASC

# columns
SELECT "c"."column_name" AS "name", "c"."udt_name" AS "database-type", "c"."ordinal_position" - 1 AS "database-position", "c"."table_schema" AS "table-schema", "c"."table_name" AS "table-name"
FROM "information_schema"."columns" AS "c" WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND "c"."table_schema" IN ('public') ORDER BY "table-schema" ASC, "table-name" ASC, "database-position" ASC

# keys and indexes
SELECT f.nspname AS "fk-table-schema", k.relname AS "fk-table-name" FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class k ON c.conrelid = k.oid JOIN pg_catalog.pg_namespace f ON c.connamespace = f.oid WHERE c.contype = 'f'

SELECT t.relname AS "table-name", (information_schema._pg_expandarray(i.indkey)).n AS position FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class t ON t.oid = i.indrelid WHERE i.indpred IS NULL

# enums
SELECT n.nspname AS schema, t.typname AS name FROM pg_catalog.pg_enum e JOIN pg_catalog.pg_type t ON t.oid = e.enumtypid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace GROUP BY 1, 2

SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED

# fingerprints: a sample of each table
SELECT substring(CAST("public"."office.pcapng"."frame.number" AS text), 1, 1234) AS "substring1" FROM "public"."office.pcapng" LIMIT 10000
