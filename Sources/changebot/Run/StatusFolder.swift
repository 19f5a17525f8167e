internal import BotState
internal import Glibc
internal import Locking

/// The folder of a run's status file. It is missing until the run has its first state, for which the gateway must have
/// answered. A run that waits longer than a moment for that creates it, so that `changebot status` and `list` see it.
struct StatusFolder: Sendable {
    let path: String
    /// The bot's name.
    let name: String
    private let created = Locked<[String]>([])

    init(path: String, name: String) { (self.path, self.name) = (path, name) }

    /// Without an effect if it exists or can't be created: opening the state then fails with the reason.
    func create() {
        guard let missing = try? StateFiles(directory: path, name: name).createDirectory(), !missing.isEmpty else {
            return
        }
        created.withLock { $0 = missing }
    }

    /// Removes the folders that this run created, if they are still empty. Call it when the run ends.
    func removeIfEmpty() { for folder in created.withLock(\.self).reversed() { rmdir(folder) } }
}
