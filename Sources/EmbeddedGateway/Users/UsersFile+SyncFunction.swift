internal import LosslessJSON
internal import SyncFunctions

extension UsersFile {
    /// `"sync"`: the text of a function. Nil if it is missing, null or empty.
    func function(_ settings: JSONValue, _ limits: SyncFunction.Limits) throws(UsersError) -> SyncFunction? {
        guard let value = settings["sync"], value.kind != .null else { return nil }
        guard let source = value.string else { throw error("\"sync\" must be the text of a function", at: value) }
        guard !source.isEmpty else { return nil }
        do { return try SyncFunction(source, limits: limits) } catch let refusal
            as SyncFunction.Refusal
        {
            let place = refusal.line.map { "line \($0) of the function: " } ?? ""
            throw error("\"sync\" is not a function in JavaScript (ES5): \(place)\(refusal.message)", at: value)
        } catch {
            let cause = if case .notStarted(let reason) = error as? SyncFunction.Failure { reason } else { "\(error)" }
            throw self.error("can't start a process for \"sync\": \(cause)", at: value)
        }
    }

    /// `"javascript_timeout_secs"`. 0 gives the default, because the gateway writes documents one by one.
    func limits(_ settings: JSONValue) throws(UsersError) -> SyncFunction.Limits {
        var limits = SyncFunction.Limits()
        guard let value = settings["javascript_timeout_secs"] else { return limits }
        guard let seconds = value.integer, 0...86_400 ~= seconds else {
            throw error("\"javascript_timeout_secs\" must be a number of seconds", at: value)
        }
        if seconds > 0 { limits.time = .seconds(seconds) }
        return limits
    }
}
