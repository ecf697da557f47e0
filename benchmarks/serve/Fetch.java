import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/** Reads all rows of a query piece by piece, and prints how many there were and how many seconds it took. */
public class Fetch {
    public static void main(String[] words) throws Exception {
        try (Connection connection = DriverManager.getConnection(words[0])) {
            // Otherwise the driver keeps all rows.
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                long begun = System.nanoTime();
                long count = 0;
                try (ResultSet rows = statement.executeQuery(words[1])) {
                    int columns = rows.getMetaData().getColumnCount();
                    while (rows.next()) {
                        for (int column = 1; column <= columns; column++) {
                            rows.getObject(column);
                        }
                        count++;
                    }
                }
                System.out.println(count + " " + (System.nanoTime() - begun) / 1e9);
            }
        }
    }
}
