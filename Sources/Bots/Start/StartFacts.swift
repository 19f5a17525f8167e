internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging

/// What decides where a run starts.
struct StartFacts {
    /// The state's checkpoint, and the hash of the rules then in force.
    let checkpoint: (sequence: SequenceID, ruleSetHash: String)?
    /// Whether the checkpoint was removed by a command. Then no copy may replace it.
    let isCheckpointReset: Bool
    /// The option `--since`.
    let since: BotSettings.Start?
    /// The mark in the database, with the copy of a checkpoint; nil if this user may not read it.
    let copy: DatabaseMark?
    /// The hash of the rules of this run.
    let ruleSetHash: String
    /// The rules that are new or other than they were; nil if the state does not know.
    var changedRules: ChangedRules?
    /// The channels that this run reads, in order; nil for all.
    let channels: [String]?

    /// Whether the run starts at the database's newest sequence, so it must be known.
    var needsNewest: Bool { since == .now && checkpoint == nil }

    /// The checkpoint; else `--since`; else the copy of a checkpoint of the same rules and channels; else the
    /// beginning.
    ///
    /// - Parameter newest: The database's newest sequence, if the gateway tells it.
    func start(newest: SequenceID?) -> RunStart {
        var start = checkpoint.map(atCheckpoint) ?? withoutCheckpoint(newest)
        if let newest, newest.hasPassed(start.sequence) == false { start.notices.append(.notReached(newest: newest)) }
        return start
    }

    private func atCheckpoint(_ checkpoint: (sequence: SequenceID, ruleSetHash: String)) -> RunStart {
        var start = RunStart(checkpoint.sequence)
        if since != nil { start.notices.append(.sinceIgnored) }
        if let copy, copy.checkpoint != nil, copy.channels != channels { start.notices.append(.channelsChanged) }
        if let changedRules, !changedRules.isEmpty {
            if !changedRules.plain.isEmpty { start.notices.append(.rulesChanged(changedRules.plain)) }
            if !changedRules.timed.isEmpty { start.notices.append(.timedRulesChanged(changedRules.timed)) }
        } else if checkpoint.ruleSetHash != ruleSetHash {
            start.notices.append(.rulesChanged([]))
        }
        return start
    }

    private func withoutCheckpoint(_ newest: SequenceID?) -> RunStart {
        switch since {
        case .beginning: return RunStart(.start)
        case .sequence(let sequence): return RunStart(sequence)
        case .now: return RunStart(newest ?? .start)
        case nil: break
        }
        guard let copy, let sequence = copy.checkpoint, !isCheckpointReset else { return RunStart(.start) }
        guard copy.ruleSetHash == ruleSetHash, copy.channels == channels else {
            return RunStart(.start, [.otherCopy])
        }
        return RunStart(sequence, [.atCopy(savedAt: copy.savedAt)])
    }
}

/// Where a run starts, and what to tell the user about it.
struct RunStart: Equatable {
    enum Notice: Equatable {
        /// There is a checkpoint, so `--since` does not count.
        case sinceIgnored
        case channelsChanged
        /// The rules are others than at the checkpoint; these are new or changed. Empty: it is not known which, or
        /// some are gone.
        case rulesChanged([String])
        /// These rules with `at` are new or changed.
        case timedRulesChanged([String])
        /// The copy in the database is of other rules or channels.
        case otherCopy
        /// The run starts at the copy in the database.
        case atCopy(savedAt: String)
        /// The database has not reached the sequence.
        case notReached(newest: SequenceID)
    }

    let sequence: SequenceID
    var notices: [Notice]

    init(_ sequence: SequenceID, _ notices: [Notice] = []) {
        self.sequence = sequence
        self.notices = notices
    }
}

// MARK: - In the log

extension RunStart {
    /// - Parameters:
    ///   - stateOptions: The options by which commands find the state; nil if none can.
    ///   - fixOptions: The options with which `changebot fix` applies the rules to the same database; nil: it is not
    ///     advised.
    func log(to logger: Logger, stateOptions: String?, fixOptions: String? = nil) {
        for notice in notices { log(notice, to: logger, stateOptions ?? "", fixOptions) }
    }

    private func log(_ notice: Notice, to logger: Logger, _ options: String, _ fixOptions: String?) {
        let setCommand = "changebot checkpoint set SEQUENCE \(options)"
        let resetCommand = "changebot checkpoint reset \(options)"
        switch notice {
        case .sinceIgnored:
            logger.notice(
                "ignoring --since: there is a checkpoint; to move it: \(setCommand)",
                metadata: [LogKey.checkpoint: "\(sequence)"])
        case .channelsChanged:
            logger.warning(
                "the channels have changed since the checkpoint: older changes are not read; to start over: \(resetCommand)"
            )
        case .rulesChanged(let names):
            let rules = names.map { " --rule \($0.shellWord)" }.joined()
            logRules(names, to: logger, remedy: fixOptions.map { "changebot fix\(rules) \($0)" })
        case .timedRulesChanged(let names):
            logRules(
                names, to: logger,
                remedy: fixOptions.map { _ in "start the bot with --catch-up-changed-rules, once" })
        case .otherCopy:
            logger.notice("the database holds a checkpoint of other rules or channels: starting at the beginning")
        case .atCopy(let savedAt):
            logger.notice(
                "there is no checkpoint here: continuing at the copy in the database",
                metadata: [LogKey.checkpoint: "\(sequence)", LogKey.savedAt: "\(savedAt)"])
        case .notReached(let newest):
            logger.warning(
                "the run starts ahead of the database: changes are skipped until the database has caught up; to start at the beginning: \(resetCommand)",
                metadata: [LogKey.since: "\(sequence)", LogKey.newest: "\(newest)"])
        }
    }

    /// - Parameters:
    ///   - names: The rules that are new or changed; empty: it is not known which.
    ///   - remedy: What applies them to older documents; nil: it is not advised.
    private func logRules(_ names: [String], to logger: Logger, remedy: String?) {
        let advice = names.isEmpty ? nil : remedy.map { "; for documents from before: \($0)" }
        logger.notice(
            "the rules have changed since the checkpoint; they apply from here on\(advice ?? "")",
            metadata: names.isEmpty ? [:] : [LogKey.rules: "\(names.joined(separator: ", "))"])
    }
}
