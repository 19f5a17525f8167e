internal import GRDB

/// Opens states to read them without a trace: nothing beside them is created, changed or locked, and nothing is
/// migrated, so that the program that wrote a state can go on with it. Even opening a file to read it makes SQLite
/// create others beside it.
///
/// The one way to read a state for commands that only show it, for dry runs and for `doctor`. The state must exist.
enum ReadOnlyState {
    /// For commands that show a state, whatever older version wrote it.
    ///
    /// A state that a run has open is read where it is, and may change between two reads. Any other, and one of an
    /// older version, is copied.
    ///
    /// - Throws: ``StateError``: `.unreadable`, also if a newer changebot wrote it; `.cannotCreate` and `.cannotWrite`
    ///   if there is no room for a copy.
    static func inCurrentForm(_ files: StateFiles) throws(StateError) -> DatabaseQueue {
        let database = try inItsOwnForm(files)
        let isCurrent: Bool
        do { isCurrent = try LedgerSchema.isCurrent(database) } catch { throw .reading(files.database, error) }
        if isCurrent { return database }
        let copy = try copied(database, files)
        do { try LedgerSchema.migrate(copy) } catch { throw .copying(files.database, error) }
        return copy
    }

    /// For dry runs: the state as it is now, whatever a run does to it later.
    ///
    /// - Throws: As ``inCurrentForm(_:)``.
    static func copyInCurrentForm(_ files: StateFiles) throws(StateError) -> DatabaseQueue {
        try copied(inCurrentForm(files), files)
    }

    /// For `doctor`: a state of any version, also of a newer one.
    ///
    /// - Throws: As ``inCurrentForm(_:)``.
    static func inItsOwnForm(_ files: StateFiles) throws(StateError) -> DatabaseQueue {
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
