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

    /// The places whose evaluation a test has reached. Nothing else in the rules matters for its result.
    struct Reached: Sendable {
        fileprivate let offsets: [Int]
        fileprivate let isReached: [Bool]

        func contains(_ place: Place) -> Bool { isReached[offsets[place.rule] + place.point] }
    }

    /// What one test has shown so far. Points are numbered over all rules.
    fileprivate struct Test {
        var isReached: [Bool] = []
        /// For each point, whether its first and second outcome were seen.
        var isSeen: [Bool] = []
        /// For each rule.
        var hasFired: [Bool] = []
    }

    private struct State {
        let rules: [CoveredRule]
        /// For each rule, the number of its first point.
        let offsets: [Int]
        /// As ``Test/isSeen``: the numbers of tests.
        var counts: [Int]
        var test: Test
        let emptyTest: Test
    }

    private let state: Locked<State>

    init(_ rules: [Rule]) {
        let covered = rules.map(CoveredRule.init)
        var offsets: [Int] = []
        var count = 0
        for rule in covered {
            offsets.append(count)
            count += rule.points.count
        }
        let no = { [Bool](repeating: false, count: $0) }
        let test = Test(isReached: no(count), isSeen: no(2 * count), hasFired: no(covered.count))
        state = Locked(
            State(
                rules: covered, offsets: offsets, counts: [Int](repeating: 0, count: 2 * count), test: test,
                emptyTest: test))
    }

    /// Counts the outcomes of the test that ends here.
    func endTest() -> Reached {
        state.withLock { state in
            for index in state.counts.indices where state.test.isSeen[index] { state.counts[index] += 1 }
            defer { state.test = state.emptyTest }
            return Reached(offsets: state.offsets, isReached: state.test.isReached)
        }
    }

    /// The points of each rule, with the outcomes of all tests.
    var points: [[CoveragePoint]] {
        state.withLock { state in
            zip(state.rules, state.offsets).map { covered, offset in
                covered.points.enumerated().map { index, point in
                    var point = point
                    for outcome in point.outcomes.indices {
                        point.outcomes[outcome].testCount = state.counts[2 * (offset + index) + outcome]
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
        trace(rule) { covered, trace in
            trace.reach(CoveredRule.rulePoint)
            let holds = trace.match(covered.when, covered.whenPoints, document, scratch)
            guard holds, let unless = covered.unless else { return }
            _ = trace.match(unless, covered.unlessPoints, document, scratch)
        }
    }

    /// A rule compares the document with the state that it last saw.
    func noteComparison(_ rule: Int, _ observation: EdgeCondition.Observation) {
        guard let before = observation.before, observation.matches, !observation.isUnavailable else { return }
        trace(rule) { covered, trace in
            for (index, point) in covered.changedPoints.enumerated() {
                trace.find(point, before.digests[index] != observation.digests[index])
            }
            guard before.matched else { return }
            for (edge, point) in covered.onPoints where edge == .enter || edge == .leave { trace.find(point, false) }
        }
    }

    /// A stage of a rule begins.
    ///
    /// - Parameter outcomes: The outcomes of its programs.
    func noteStart(_ stage: RuleAttempt.Stage, of rule: Int, _ outcomes: [JQOutcome], now: Int) {
        trace(rule) { covered, trace in
            switch stage {
            case .time:
                guard let point = covered.timePoint else { return }
                switch outcomes.first.map(DueTime.init) {
                case .at(let due): trace.find(point, due <= now)
                case .never, nil: trace.find(point, false)
                case .failed: trace.reach(point)
                }
            case .condition:
                guard let point = covered.conditionPoint, let outcome = outcomes.first else { return }
                switch ConditionOutcome(outcome) {
                case .holds: trace.find(point, true)
                case .fails: trace.find(point, false)
                case .failed: trace.reach(point)
                }
            case .elements(let step):
                guard let point = covered.elementPoints[step] else { return }
                guard case .outputs(let elements)? = outcomes.first else { return trace.reach(point) }
                trace.find(point, !elements.isEmpty)
            case .action(let step): trace.reach(covered.actionPoints[step])
            }
        }
    }

    /// A stage of a rule is done.
    func noteEnd(_ stage: RuleAttempt.Stage, of rule: Int) {
        guard case .action(let step) = stage else { return }
        trace(rule) { covered, trace in trace.see(covered.actionPoints[step]) }
    }

    /// A rule fires.
    func noteFiring(_ rule: Int, _ edge: Edge?, isDeleted: Bool) {
        let cause: Rule.Changes =
            switch edge?.kind {
            case .enter: .enter
            case .leave: .leave
            case .change: .change
            case .some(.none), nil: isDeleted ? .delete : .change
            }
        trace(rule) { covered, trace in
            trace.see(CoveredRule.rulePoint)
            for (edge, point) in covered.onPoints where edge == cause { trace.find(point, true) }
            trace.test.hasFired[rule] = true
        }
    }

    private func trace(_ rule: Int, _ body: (CoveredRule, inout RuleTrace) -> Void) {
        state.withLock { state in
            var trace = RuleTrace(rule: rule, offset: state.offsets[rule], test: state.test)
            // Otherwise the arrays would be copied.
            state.test = Test()
            body(state.rules[rule], &trace)
            state.test = trace.test
        }
    }
}

/// Records for one rule.
private struct RuleTrace {
    let rule: Int
    let offset: Int
    var test: CoverageRecorder.Test

    mutating func reach(_ point: Int) { test.isReached[offset + point] = true }

    /// - Parameter outcome: The index in ``CoveragePoint/outcomes``.
    mutating func see(_ point: Int, outcome: Int = 0) {
        reach(point)
        if !test.hasFired[rule] { test.isSeen[2 * (offset + point) + outcome] = true }
    }

    /// - Precondition: The outcomes of the point are true and false.
    mutating func find(_ point: Int, _ holds: Bool) { see(point, outcome: holds ? 0 : 1) }

    /// Whether a selector holds. False if matching fails.
    mutating func match(
        _ selector: NumberedSelector, _ points: Range<Int>, _ document: JSONValue, _ scratch: MatchScratch
    ) -> Bool {
        var steps: [NumberedSelector.Step] = []
        let holds = try? selector.matches(document, scratch) { steps.append($0) }
        for step in steps {
            switch step {
            case .reaches(let number): reach(points.lowerBound + number)
            case .finds(let number, let holds): find(points.lowerBound + number, holds)
            }
        }
        return holds ?? false
    }
}
