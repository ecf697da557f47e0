# What pgAdmin 4 asks when it connects and shows the tables of a schema.

# the database
SELECT db.oid as did, db.datname, db.datallowconn, pg_encoding_to_char(db.encoding) AS serverencoding, has_database_privilege(db.oid, 'CREATE') as cancreate, datistemplate
FROM pg_catalog.pg_database db
WHERE db.datname = current_database()

# databases
SELECT db.oid AS did, db.oid, db.datname AS name, db.dattablespace AS spcoid, spcname, datallowconn, pg_catalog.has_database_privilege(db.oid, 'CREATE') AS cancreate, datdba AS owner, db.datistemplate, descr.description, datconnlimit
FROM pg_catalog.pg_database db
LEFT OUTER JOIN pg_catalog.pg_tablespace ta ON db.dattablespace = ta.oid
LEFT OUTER JOIN pg_catalog.pg_shdescription descr ON (db.oid=descr.objoid AND descr.classoid='pg_database'::regclass)
WHERE db.oid > 16383::OID OR db.datname IN ('postgres', 'edb')
ORDER BY datname

# schemas
SELECT nsp.oid, nsp.nspname as name, pg_catalog.has_schema_privilege(nsp.oid, 'CREATE') as can_create, pg_catalog.has_schema_privilege(nsp.oid, 'USAGE') as has_usage
FROM pg_catalog.pg_namespace nsp
WHERE nspname NOT LIKE 'pg\_%' AND NOT ((nsp.nspname = 'pg_catalog' AND EXISTS (SELECT 1
FROM pg_catalog.pg_class WHERE relname = 'pg_class' AND relnamespace = nsp.oid LIMIT 1)) OR (nsp.nspname = 'information_schema' AND EXISTS (SELECT 1
FROM pg_catalog.pg_class WHERE relname = 'tables' AND relnamespace = nsp.oid LIMIT 1)))
ORDER BY nspname

# tables
SELECT rel.oid, rel.relname AS name, (SELECT count(*) FROM pg_trigger WHERE tgrelid=rel.oid AND tgisinternal = FALSE) AS triggercount, (SELECT count(*) FROM pg_trigger WHERE tgrelid=rel.oid AND tgisinternal = FALSE AND tgenabled = 'O') AS has_enable_triggers, (CASE WHEN rel.relkind = 'p' THEN true ELSE false END) AS is_partitioned, (SELECT count(1) FROM pg_inherits WHERE inhrelid=rel.oid LIMIT 1) as is_inherits, (SELECT count(1) FROM pg_inherits WHERE inhparent=rel.oid LIMIT 1) as is_inherited, des.description
FROM pg_class rel
LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=rel.oid AND des.objsubid=0 AND des.classoid='pg_class'::regclass)
WHERE rel.relkind IN ('r','s','t','p') AND rel.relnamespace = 2200::oid AND NOT rel.relispartition
ORDER BY rel.relname
