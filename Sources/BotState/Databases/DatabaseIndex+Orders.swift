internal import FoundationEssentials
internal import GatewayClient
internal import Glibc

// Orders to one of many databases wait in its state, which is not open while the database is quiet. So the command also
// leaves the database's name where the run looks. It stays there until the work on the database has ended, so that a
// killed run is continued.
extension DatabaseIndex {
    /// The folder with a file for each database that has an order. No database has this name.
    private static func orders(_ folder: String) -> String { folder + "/index.sqlite.orders" }
    /// The same, for those on which the run works.
    private static func begunOrders(_ folder: String) -> String { folder + "/index.sqlite.begun-orders" }

    /// Tells the run of a bot that a database has an order. Without a run, the next one looks.
    ///
    /// - Parameters:
    ///   - directory: The folder of states (`--state`).
    ///   - name: The bot's name.
    /// - Throws: ``StateError``: `.cannotWrite`.
    package static func leaveOrder(in directory: String, named name: String, of database: String) throws(StateError) {
        let folder = folder(in: directory, named: name)
        let path = "\(orders(folder))/\(KeyspaceName.pathSegment(of: database))"
        do {
            try FileManager.default.createDirectory(
                atPath: orders(folder), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            // Elsewhere at first: the run reads each file that it finds.
            let temporary = "\(folder)/index.sqlite.order-\(ProcessInfo.processInfo.processIdentifier)"
            try Data(database.utf8).write(to: URL(filePath: temporary))
            guard rename(temporary, path) == 0 else {
                let reason = String(cString: strerror(errno))
                unlink(temporary)
                throw StateError.cannotWrite(path: path, reason: reason)
            }
        } catch let error as StateError {
            throw error
        } catch {
            throw .cannotWrite(path: path, reason: "\(error)")
        }
        LockFileWatch.touch("\(folder)/index.lock")
    }

    /// The databases that have orders. The orders are in their states.
    ///
    /// - Parameter includesBegun: Whether to include those on which a run has begun to work, which it may not have ended.
    package func orderedDatabases(includesBegun: Bool = false) -> Set<String> {
        let folders = [Self.orders(folder)] + (includesBegun ? [Self.begunOrders(folder)] : [])
        return Set(
            folders.flatMap { folder in
                ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { file in
                    (try? Data(contentsOf: URL(filePath: "\(folder)/\(file)"))).map {
                        String(decoding: $0, as: UTF8.self)
                    }
                }
            })
    }

    /// Notes that work on a database begins, which finds the orders until now in its state.
    package func beginOrder(of database: String) {
        let file = KeyspaceName.pathSegment(of: database)
        try? FileManager.default.createDirectory(
            atPath: Self.begunOrders(folder), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // An order of a killed run may be there already.
        rename("\(Self.orders(folder))/\(file)", "\(Self.begunOrders(folder))/\(file)")
    }

    /// Notes that work on a database has ended. What remains to be done is in the index. Orders that were left meanwhile
    /// stay.
    package func endOrder(of database: String) {
        unlink("\(Self.begunOrders(folder))/\(KeyspaceName.pathSegment(of: database))")
    }

    /// Calls `body` now, and again whenever a command may have left an order. Does not return normally.
    ///
    /// - Throws: `CancellationError`.
    package func whenOrdered(_ body: () async -> Void) async throws {
        try await LockFileWatch.whileTouched("\(folder)/index.lock", every: nil) {
            await body()
            return true
        }
    }
}
