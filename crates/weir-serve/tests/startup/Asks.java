import java.sql.*;
import java.util.*;

/** What programs over JDBC ask of a database before they show it, and values of all kinds. */
public class Asks {
    interface Ask {
        ResultSet ask() throws SQLException;
    }

    static int wrong = 0;

    static int count(String what, Ask ask) {
        try (ResultSet rows = ask.ask()) {
            int count = 0;
            while (rows.next()) {
                for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
                    rows.getString(column);
                }
                count++;
            }
            return count;
        } catch (SQLException error) {
            System.out.println(what + ": " + error.getMessage());
            wrong++;
            return -1;
        }
    }

    static void check(String what, boolean holds) {
        if (!holds) {
            System.out.println(what);
            wrong++;
        }
    }

    public static void main(String[] arguments) throws SQLException {
        Properties properties = new Properties();
        properties.put("user", "me");
        String address = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/weir";
        String file = "office.pcapng";
        try (Connection connection = DriverManager.getConnection(address, properties)) {
            DatabaseMetaData all = connection.getMetaData();
            check("catalogs", count("getCatalogs", all::getCatalogs) > 0);
            check("schemas", count("getSchemas", all::getSchemas) > 0);
            check("table types", count("getTableTypes", all::getTableTypes) > 0);
            check("tables", count("getTables", () -> all.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"})) > 5);
            check("columns", count("getColumns", () -> all.getColumns(null, "public", file, "%")) > 100);
            check("primary keys", count("getPrimaryKeys", () -> all.getPrimaryKeys(null, "public", file)) == 0);
            check("indexes", count("getIndexInfo", () -> all.getIndexInfo(null, "public", file, false, true)) == 0);
            check("imported keys", count("getImportedKeys", () -> all.getImportedKeys(null, "public", file)) == 0);
            check("exported keys", count("getExportedKeys", () -> all.getExportedKeys(null, "public", file)) == 0);
            check("row identifiers", count("getBestRowIdentifier", () -> all.getBestRowIdentifier(null, "public", file, 2, true)) == 0);
            check("procedures", count("getProcedures", () -> all.getProcedures(null, "public", "%")) == 0);
            check("functions", count("getFunctions", () -> all.getFunctions(null, "public", "%")) == 0);
            check("types", count("getTypeInfo", all::getTypeInfo) > 10);
            check("types of users", count("getUDTs", () -> all.getUDTs(null, "public", "%", null)) == 0);
            check("keywords", all.getSQLKeywords().length() > 100);

            try (Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("SELECT arrow_cast(18446744073709551615, 'UInt64') AS most,"
                        + " NULL AS nothing, TIMESTAMPTZ '2026-01-02 03:04:05.123456Z' AS at, [1, 2, NULL] AS numbers,"
                        + " ['a', NULL] AS texts, true AS flag, X'00ff' AS bytes, 1.5 AS half")) {
                row.next();
                check("most", row.getBigDecimal(1).toPlainString().equals("18446744073709551615"));
                check("nothing", row.getString(2) == null && row.wasNull());
                check("at", row.getTimestamp(3).toInstant().toString().equals("2026-01-02T03:04:05.123456Z"));
                check("numbers", Arrays.toString((Object[]) row.getArray(4).getArray()).equals("[1, 2, null]"));
                check("texts", Arrays.toString((Object[]) row.getArray(5).getArray()).equals("[a, null]"));
                check("flag", row.getBoolean(6));
                check("bytes", Arrays.equals(row.getBytes(7), new byte[] {0, -1}));
                check("half", row.getDouble(8) == 1.5);
            }
            String sql = "SELECT ip.src, count(*) FROM 'office.pcapng' WHERE frame.len > ? AND ip.src IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1";
            try (PreparedStatement prepared = connection.prepareStatement(sql)) {
                String first = null;
                // The fifth time pgjdbc keeps the statement at the server and takes values in binary.
                for (int round = 0; round < 8; round++) {
                    prepared.setInt(1, 60);
                    try (ResultSet rows = prepared.executeQuery()) {
                        rows.next();
                        String row = rows.getString(1) + " " + rows.getLong(2);
                        check("round " + round + ": " + row, first == null || first.equals(row));
                        first = row;
                    }
                }
            }
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(100);
                int rows = count("pages", () -> statement.executeQuery("SELECT frame.number FROM 'office.pcapng'"));
                check("rows in pages", rows > 1000);
            }
            connection.commit();
        }
        System.exit(wrong == 0 ? 0 : 1);
    }
}
