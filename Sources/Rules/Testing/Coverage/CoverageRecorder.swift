internal import JQ
internal import Locking
internal import LosslessJSON

/// Records what the rules of a file evaluate while its tests run, one test after the other.
///
/// Outcomes of a rule count until the rule fires in a test: then it sees its own result.
final class CoverageRecorder: Sendable {
    /// A place in the rules of a file.
    struct Place: Hashable {
        let rule: Int
        /// The index in ``CoveredRule/points``.
        let point: Int
    }

    fileprivate struct Outcome: Hashable {
        let place: Place
        let result: CoveragePoint.Result
    }

    fileprivate struct Test {
        var reached: Set<Place> = []
        var seen: Set<Outcome> = []
        var fired: Set<Int> = []
    }

    private struct State {
        var rules: [CoveredRule]
        var counts: [Outcome: Int] = [:]
        var test = Test()
    }

    private let state: Locked<State>

    init(_ rules: [Rule]) { state = Locked(State(rules: rules.map(CoveredRule.init))) }

    /// Counts the outcomes of the test that ends here.
    ///
    /// - Returns: The places whose evaluation the test has reached. Nothing else in the rules matters for its result.
    func endTest() -> Set<Place> {
        state.withLock { state in
            for outcome in state.test.seen { state.counts[outcome, default: 0] += 1 }
            defer { state.test = Test() }
            return state.test.reached
        }
    }

    /// The points of each rule, with the outcomes of all tests.
    var points: [[CoveragePoint]] {
        state.withLock { state in
            state.rules.enumerated().map { rule, covered in
                covered.points.enumerated().map { index, point in
                    var point = point
                    for outcome in point.outcomes.indices {
                        let result = point.outcomes[outcome].result
                        let key = Outcome(place: Place(rule: rule, point: index), result: result)
                        point.outcomes[outcome].testCount = state.counts[key] ?? 0
                    }
                    return point
                }
            }
        }
    }
}

// MARK: - What a decision evaluates

extension CoverageRecorder {
    /// The selectors of a rule are evaluated on the document as it is now.
    func noteMatch(_ rule: Int, _ document: JSONValue, _ scratch: MatchScratch) {
        state.withLock { state in
            let covered = state.rules[rule]
            state.test.reach(rule, CoveredRule.rulePoint)
            let holds = state.test.match(covered.when, rule, covered.whenPoints, document, scratch)
            guard holds, let unless = covered.unless else { return }
            _ = state.test.match(unless, rule, covered.unlessPoints, document, scratch)
        }
    }

    /// A rule compares the document with the state that it last saw.
    func noteComparison(_ rule: Int, _ observation: EdgeCondition.Observation) {
        guard let before = observation.before else { return }
        state.withLock { state in
            let covered = state.rules[rule]
            if observation.matches, !observation.isUnavailable {
                for (index, point) in covered.changedPoints.enumerated() {
                    let differs = before.digests[index] != observation.digests[index]
                    state.test.find(rule, point, differs)
                }
            }
            guard before.matched, observation.matches, !observation.isUnavailable else { return }
            for (edge, point) in covered.onPoints where edge == .enter || edge == .leave {
                state.test.find(rule, point, false)
            }
        }
    }

    /// A stage of a rule begins.
    ///
    /// - Parameter outcomes: The outcomes of its programs.
    func noteStart(_ stage: RuleAttempt.Stage, of rule: Int, _ outcomes: [JQOutcome], now: Int) {
        state.withLock { state in
            let covered = state.rules[rule]
            switch stage {
            case .time:
                guard let point = covered.timePoint else { return }
                switch outcomes.first.map(DueTime.init) {
                case .at(let due): state.test.find(rule, point, due <= now)
                case .never, nil: state.test.find(rule, point, false)
                case .failed: state.test.reach(rule, point)
                }
            case .condition:
                guard let point = covered.conditionPoint, let outcome = outcomes.first else { return }
                switch ConditionOutcome(outcome) {
                case .holds: state.test.find(rule, point, true)
                case .fails: state.test.find(rule, point, false)
                case .failed: state.test.reach(rule, point)
                }
            case .elements(let step):
                guard let point = covered.elementPoints[step] else { return }
                guard case .outputs(let elements)? = outcomes.first else { return state.test.reach(rule, point) }
                state.test.find(rule, point, !elements.isEmpty)
            case .action(let step): state.test.reach(rule, covered.actionPoints[step])
            }
        }
    }

    /// A stage of a rule is done.
    func noteEnd(_ stage: RuleAttempt.Stage, of rule: Int) {
        guard case .action(let step) = stage else { return }
        state.withLock { state in state.test.see(rule, state.rules[rule].actionPoints[step], .runs) }
    }

    /// A rule fires.
    func noteFiring(_ rule: Int, _ edge: Edge?, isDeleted: Bool) {
        state.withLock { state in
            state.test.see(rule, CoveredRule.rulePoint, .fires)
            let cause: Rule.Changes =
                switch edge?.kind {
                case .enter: .enter
                case .leave: .leave
                case .change: .change
                case .some(.none), nil: isDeleted ? .delete : .change
                }
            for (edge, point) in state.rules[rule].onPoints where edge == cause { state.test.find(rule, point, true) }
            state.test.fired.insert(rule)
        }
    }
}

extension CoverageRecorder.Test {
    fileprivate mutating func reach(_ rule: Int, _ point: Int) {
        reached.insert(CoverageRecorder.Place(rule: rule, point: point))
    }

    fileprivate mutating func see(_ rule: Int, _ point: Int, _ result: CoveragePoint.Result) {
        reach(rule, point)
        guard !fired.contains(rule) else { return }
        let place = CoverageRecorder.Place(rule: rule, point: point)
        seen.insert(CoverageRecorder.Outcome(place: place, result: result))
    }

    fileprivate mutating func find(_ rule: Int, _ point: Int, _ holds: Bool) {
        see(rule, point, holds ? .true : .false)
    }

    /// Whether a selector holds. False if matching fails.
    fileprivate mutating func match(
        _ selector: NumberedSelector, _ rule: Int, _ points: Range<Int>, _ document: JSONValue, _ scratch: MatchScratch
    ) -> Bool {
        var steps: [NumberedSelector.Step] = []
        let holds = try? selector.matches(document, scratch) { steps.append($0) }
        for step in steps {
            switch step {
            case .reaches(let number): reach(rule, points.lowerBound + number)
            case .finds(let number, let holds): find(rule, points.lowerBound + number, holds)
            }
        }
        return holds ?? false
    }
}
