# What DBeaver asks when it connects and when its tree is opened, over pgjdbc: the same relations, columns and
# functions. A line of its own with # says what follows; an empty line ends a statement.

# settings of the driver and of the program
SET extra_float_digits = 3

SET application_name = 'PostgreSQL JDBC Driver'

SET application_name = 'DBeaver 25.2.0 - Main <weir>'

# where one is
SELECT current_schema(), session_user

SELECT version()

SHOW search_path

# databases and schemas
SELECT d.oid, d.* FROM pg_catalog.pg_database d WHERE d.datname = 'weir'

SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE db.datallowconn AND NOT db.datistemplate OR db.datname = 'weir' ORDER BY db.datname

SELECT s.oid, s.*, e.description FROM pg_catalog.pg_namespace s
LEFT OUTER JOIN pg_catalog.pg_description e ON e.objoid = s.oid AND e.objsubid = 0 AND e.classoid = 'pg_namespace'::regclass
ORDER BY nspname

# settings of the server
SELECT * FROM pg_catalog.pg_settings WHERE name = 'standard_conforming_strings'

SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,select}'::text[])

# whether relations are there
SELECT * FROM pg_catalog.pg_enum WHERE 1 <> 1 LIMIT 1

SELECT reltype FROM pg_catalog.pg_class WHERE 1 <> 1 LIMIT 1

# types
SELECT y.oid, y.*, c.relkind, format_type(nullif(y.typbasetype, 0), y.typtypmod) AS base_type_name, e.description
FROM pg_catalog.pg_type y
LEFT OUTER JOIN pg_catalog.pg_type el ON el.oid = y.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = y.typrelid
LEFT OUTER JOIN pg_catalog.pg_description e ON y.oid = e.objoid
WHERE y.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (el.typcategory IS NULL OR el.typcategory <> 'C')

SELECT n.nspname = ANY(current_schemas(true)), n.nspname, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = 1034

SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname FROM pg_catalog.pg_type WHERE oid = 1034

# tables of a schema, and their sizes
SELECT c.oid, c.*, e.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description e ON e.objoid = c.oid AND e.objsubid = 0 AND e.classoid = 'pg_class'::regclass
WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')

SELECT c.oid, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size, pg_catalog.pg_relation_size(c.oid) AS rel_size FROM pg_class c WHERE c.relnamespace = 2200

# columns of a table
SELECT c.relname, a.*, pg_catalog.pg_get_expr(f.adbin, f.adrelid, true) AS def_value, e.description
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef f ON (a.attrelid = f.adrelid AND a.attnum = f.adnum)
LEFT OUTER JOIN pg_catalog.pg_description e ON (c.oid = e.objoid AND a.attnum = e.objsubid)
WHERE NOT a.attisdropped AND c.relname = 'office.pcapng' ORDER BY a.attnum

# keys, indexes, triggers, rules, policies, partitions
SELECT i.*, i.indkey AS keys, c.relname, c.relnamespace, t.relname AS tabrelname, pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS pred_expr, pg_catalog.pg_relation_size(i.indexrelid) AS index_rel_size, pg_catalog.pg_stat_get_numscans(i.indexrelid) AS index_num_scans
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
INNER JOIN pg_catalog.pg_class t ON t.oid = i.indrelid
WHERE i.indrelid = 1 ORDER BY tabrelname, c.relname

SELECT c.oid, c.*, t.relname AS tabrelname, r.relnamespace AS refnamespace, CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) ELSE null END AS consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class r ON r.oid = c.confrelid
WHERE c.conrelid = 1 ORDER BY c.oid

SELECT x.oid, x.*, p.pronamespace AS func_schema_id FROM pg_catalog.pg_trigger x LEFT OUTER JOIN pg_catalog.pg_proc p ON p.oid = x.tgfoid WHERE x.tgrelid = 1 AND NOT x.tgisinternal

SELECT r.*, pg_catalog.pg_get_ruledef(r.oid) AS definition FROM pg_catalog.pg_rewrite r WHERE r.ev_class = 1

SELECT i.inhseqno, c.relname FROM pg_catalog.pg_inherits i, pg_catalog.pg_class c WHERE i.inhrelid = 1 AND c.oid = i.inhparent ORDER BY i.inhseqno

SELECT p.oid AS poid, p.*, pg_catalog.pg_get_expr(p.proargdefaults, 0) AS arg_defaults FROM pg_catalog.pg_proc p WHERE p.pronamespace = 2200 AND p.prokind <> 'a' ORDER BY p.proname

# the data of a table, a page of it
SELECT x.* FROM public."office.pcapng" x LIMIT 20
