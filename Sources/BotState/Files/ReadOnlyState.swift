internal import GRDB

/// Opens states to read them without a trace: nothing beside them is created, changed or locked. Even opening a file to
/// read it makes SQLite create others beside it.
///
/// The one way to read a state for commands that only show it, for dry runs and for `doctor`. The state must exist.
enum ReadOnlyState {
    /// For commands that show a state.
    ///
    /// A state that a run has open is read where it is, and may change between two reads. Any other is copied.
    ///
    /// - Throws: ``StateError``: `.unreadable`, also if its tables are not those of this program; `.cannotCreate` and
    ///   `.cannotWrite` if there is no room for a copy.
    static func open(_ files: StateFiles) throws(StateError) -> DatabaseQueue {
        let database = try openUnchecked(files)
        do {
            if try database.read(SQLiteStore.isPrepared) { return database }
            // A run was killed before it had made the tables, or is about to.
            let copy = try copied(database, files)
            try SQLiteStore.prepare(copy)
            return copy
        } catch {
            throw .reading(files.database, error)
        }
    }

    /// For dry runs: the state as it is now, whatever a run does to it later.
    ///
    /// - Throws: As ``open(_:)``.
    static func copy(_ files: StateFiles) throws(StateError) -> DatabaseQueue { try copied(open(files), files) }

    /// For `doctor`: whatever the tables are.
    ///
    /// - Throws: As ``open(_:)``.
    static func openUnchecked(_ files: StateFiles) throws(StateError) -> DatabaseQueue {
        // The files of a run can't be copied, since part of the data is in shared memory. But what SQLite would create
        // beside them exists already.
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

    /// What is open for writing is a copy already.
    private static func copied(_ database: DatabaseQueue, _ files: StateFiles) throws(StateError) -> DatabaseQueue {
        try database.configuration.readonly ? StateCopy.take(of: database, files) : database
    }
}
