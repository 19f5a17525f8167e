internal import GRDB

/// Opens states for reading without leaving a trace: no file is created, changed or locked. By default SQLite creates
/// files next to a database even for reading.
///
/// Commands that only show a state, dry runs and `doctor` all read it through this type. The state must exist.
enum ReadOnlyState {
    /// For commands that show a state.
    ///
    /// A state that a run has open is read in place, and may change between two reads. Any other is copied.
    ///
    /// - Throws: ``StateError``: `.unreadable`, also if its tables are not those of this program; `.cannotCreate` and
    ///   `.cannotWrite` if there is no room for a copy.
    static func open(_ files: StateFiles) throws(StateError) -> DatabaseQueue {
        let database = try openUnchecked(files)
        do {
            if try database.read(SQLiteStore.isPrepared) { return database }
            // A run was killed before it created the tables, or is about to create them.
            let copy = try copied(database, files)
            try SQLiteStore.prepare(copy)
            return copy
        } catch {
            throw .reading(files.database, error)
        }
    }

    /// For dry runs: a snapshot of the current state, which later runs do not change.
    ///
    /// - Throws: As ``open(_:)``.
    static func copy(_ files: StateFiles) throws(StateError) -> DatabaseQueue { try copied(open(files), files) }

    /// For `doctor`: without checking the tables.
    ///
    /// - Throws: As ``open(_:)``.
    static func openUnchecked(_ files: StateFiles) throws(StateError) -> DatabaseQueue {
        // The files of a run can't be copied, since part of the data is in shared memory. But the files that SQLite
        // would create exist already.
        var isOpen = StateLock.holder(path: files.lock) != nil
        if isOpen { isOpen = try files.hasSharedMemory() }
        if !isOpen, let copy = try StateCopy.take(ofFiles: files) { return copy }
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(Ledger.busyTimeout)
        do { return try DatabaseQueue(path: files.database, configuration: configuration) } catch {
            throw .reading(files.database, error)
        }
    }

    /// A database that is open for writing is a copy already.
    private static func copied(_ database: DatabaseQueue, _ files: StateFiles) throws(StateError) -> DatabaseQueue {
        try database.configuration.readonly ? StateCopy.take(of: database, files) : database
    }
}
