internal import Logging

extension RunStart {
    /// - Parameter stateOptions: The options by which commands find the state; nil if none can.
    func log(to logger: Logger, stateOptions: String?) {
        for notice in notices { log(notice, to: logger, stateOptions ?? "") }
    }

    private func log(_ notice: Notice, to logger: Logger, _ options: String) {
        func command(_ action: String) -> String { "changebot checkpoint \(action) \(options)" }
        switch notice {
        case .sinceIgnored:
            logger.notice(
                "ignoring --since: there is a checkpoint; to move it: \(command("set SEQUENCE"))",
                metadata: ["checkpoint": "\(sequence)"])
        case .channelsChanged:
            logger.warning(
                "the channels have changed since the checkpoint: older changes are not read; to start over: \(command("reset"))"
            )
        case .rulesChanged:
            logger.notice("the rules have changed since the checkpoint; they apply from here on")
        case .otherCopy:
            logger.notice("the database holds a checkpoint of other rules or channels: starting at the beginning")
        case .atCopy(let savedAt):
            logger.notice(
                "there is no checkpoint here: continuing at the copy in the database",
                metadata: ["checkpoint": "\(sequence)", "saved_at": "\(savedAt)"])
        case .notReached(let newest):
            logger.warning(
                "the database has not reached this sequence: changes are skipped until it does; to start at the beginning: \(command("reset"))",
                metadata: ["since": "\(sequence)", "newest": "\(newest)"])
        }
    }
}
