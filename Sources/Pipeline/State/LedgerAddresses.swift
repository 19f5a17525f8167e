/// The fourth version of the schema.
enum LedgerAddresses {
    /// A state belongs to a database, which may be reached at several addresses. Before, it was bound to one address.
    static let migration = """
        -- Where the database was reached. `used` grows with every run of any state of this name: the highest is where
        -- it was reached last.
        CREATE TABLE address (url TEXT PRIMARY KEY, used INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO address SELECT value, 0 FROM identity WHERE name = 'gateway';
        DELETE FROM identity WHERE name = 'gateway';
        """
}
