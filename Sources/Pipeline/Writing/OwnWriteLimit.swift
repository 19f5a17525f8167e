/// How often one document may be written in a while. Beyond it somebody undoes what the rules do: another bot, a phone,
/// or rules of another place. Whoever reaches the limit first ends that.
package struct OwnWriteLimit: Sendable {
    package var writes = 5
    /// In seconds.
    package var window = 600

    package init() {}

    var reason: String {
        "written \(writes) times in \(window / 60) minutes: somebody undoes what the rules do, another bot or an app"
    }
}
