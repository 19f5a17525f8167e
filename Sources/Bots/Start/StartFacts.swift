internal import BotState
internal import Delivery
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging

/// The facts that decide where a run starts.
struct StartFacts {
    /// The state's checkpoint, and the hash of the rules at that time.
    let checkpoint: (sequence: SequenceID, ruleSetHash: String)?
    /// Whether a command removed the checkpoint. Then no copy may replace it.
    let isCheckpointReset: Bool
    /// The option `--since`.
    let since: BotSettings.Start?
    /// The mark in the database, with the copy of a checkpoint; nil if this user may not read it.
    let copy: DatabaseMark?
    /// The hash of the rules of this run.
    let ruleSetHash: String
    /// The hash of the rules of the last run; nil if the state has no record of it. It may be newer than that of the
    /// checkpoint, which a run without changes does not save.
    let notedRuleSetHash: String?
    /// The rules that are new or changed; nil if the state has no record of earlier rules.
    var changedRules: ChangedRules?
    /// The channels that this run reads, in order; nil for all.
    let channels: [String]?

    /// Whether the run starts at the database's newest sequence, which must then be known.
    var needsNewest: Bool { since == .now && checkpoint == nil }

    /// The first of these that exists: the checkpoint; `--since`; the copy of a checkpoint of the same rules and
    /// channels; the beginning.
    ///
    /// - Parameter newest: The database's newest sequence, if the gateway reports it.
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
            // They apply from here on, and `fix` has nothing to do with them.
            if !changedRules.knowing.isEmpty { start.notices.append(.knowingRulesChanged(changedRules.knowing)) }
            if !changedRules.comparing.isEmpty { start.notices.append(.comparingRulesChanged(changedRules.comparing)) }
        } else if notedRuleSetHash ?? checkpoint.ruleSetHash != ruleSetHash {
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
        if InjectedFault.skippedStart.isActive, let newest { return RunStart(newest) }
        return RunStart(sequence, [.atCheckpointCopy(savedAt: copy.savedAt)])
    }
}

/// Where a run starts, and what to tell the user about it.
struct RunStart: Equatable {
    enum Notice: Equatable {
        /// There is a checkpoint, so `--since` is ignored.
        case sinceIgnored
        case channelsChanged
        /// The rules differ from those at the checkpoint; these are new or changed. Empty: rules were removed, or it is
        /// not known which have changed.
        case rulesChanged([String])
        /// These rules with `at` are new or changed.
        case timedRulesChanged([String])
        /// These rules with `changed`, `enter` or `leave` are new, or their conditions were edited.
        case comparingRulesChanged([String])
        /// These rules with `changed`, `enter` or `leave` were edited, but not their conditions.
        case knowingRulesChanged([String])
        /// The copy in the database belongs to other rules or channels.
        case otherCopy
        /// The run starts at the copy in the database.
        case atCheckpointCopy(savedAt: String)
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
    ///   - stateOptions: The command-line options that select the state; nil if no command can open it.
    ///   - fixOptions: The options for running `changebot fix` with these rules on the same database; nil: the log does
    ///     not recommend it.
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
        case .knowingRulesChanged(let names): logRules(names, to: logger, remedy: nil)
        case .comparingRulesChanged(let names):
            let rules = names.map { " --rule \($0.shellWord)" }.joined()
            let advice = fixOptions.map {
                "; to let them learn all documents now, without firing: stop the bot, and run changebot fix --learn\(rules) \($0)"
            }
            logger.notice(
                "rules with 'changed', enter or leave are new or edited: they first see older documents when these change\(advice ?? "")",
                metadata: [LogKey.rules: "\(names.joined(separator: ", "))"])
        case .otherCopy:
            logger.notice("the database holds a checkpoint of other rules or channels: starting at the beginning")
        case .atCheckpointCopy(let savedAt):
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
    ///   - names: The rules that are new or changed; empty if it is not known which.
    ///   - remedy: The command that applies them to older documents; nil if the log does not recommend it.
    private func logRules(_ names: [String], to logger: Logger, remedy: String?) {
        let advice = names.isEmpty ? nil : remedy.map { "; to apply them to older documents: \($0)" }
        logger.notice(
            "the rules have changed since the checkpoint; they apply from here on\(advice ?? "")",
            metadata: names.isEmpty ? [:] : [LogKey.rules: "\(names.joined(separator: ", "))"])
    }
}
