/// Learns which tasks wait, and for what. Only a simulation has one.
package protocol WaitObserver: AnyObject, Sendable {
    /// - Returns: A number for ``end(_:)``.
    func begin(_ name: StaticString) -> Int
    func end(_ number: Int)
}

/// What the tasks of this process wait for.
package enum Waits {
    /// Set before the first task starts; nil in a real process.
    nonisolated(unsafe) package static var observer: (any WaitObserver)?
}

/// Like `withCheckedContinuation`, but ``Waits/observer`` learns what the task waits for.
///
/// - Parameter name: Completes the sentence "the task waits for …".
package func withNamedContinuation(
    _ name: StaticString, isolation: isolated (any Actor)? = #isolation,
    _ body: (CheckedContinuation<Void, Never>) -> Void
) async {
    guard let observer = Waits.observer else { return await withCheckedContinuation(isolation: isolation, body) }
    let number = observer.begin(name)
    await withCheckedContinuation(isolation: isolation, body)
    observer.end(number)
}
