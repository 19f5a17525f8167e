import Testing

@testable import EmbeddedGateway

@Suite struct FaultPlanFileTests {
    private func plan(_ text: String) throws -> FaultPlan { try FaultPlan.parse(Array(text.utf8)) }

    private func fault(_ members: String) throws -> Fault {
        try #require(try plan(#"{"faults":[{\#(members)}]}"#).faults.first)
    }

    @Test func planIsParsed() throws {
        let plan = try plan(
            #"""
            {"seed": 42, "faults": [
              {"name": "slow feed", "on": "_changes", "feed": "longpoll", "latency": ["50ms", "2s"], "share": 0.5},
              {"on": ["_bulk_docs", "document"], "method": "put", "status": {"code": 503, "retry_after": 2},
               "every": 3, "after": 100, "for": "10s", "times": 4},
              {"cut": 10}, {"cut": [0, 20]}
            ]}
            """#)
        #expect(plan.seed == 42)
        #expect(
            plan.descriptions.map { "\($0.name): \($0.text)" } == [
                "slow feed: latency 50 to 2000 ms on longpoll _changes, a share of 0.5",
                "status: status 503 on PUT _bulk_docs document, one in 3, after 100 requests, for 10.0 seconds, "
                    + "at most 4 times",
                "cut: cut after 10 bytes", "cut 2: cut after 0 to 20 bytes",
            ])
    }

    @Test(arguments: [
        (#""latency":"1m""#, "latency 60000 ms"),
        (#""slice":1"#, "slices of 1 byte"),
        (#""slice":{"bytes":7,"pause":"10ms"}"#, "slices of 7 bytes with 0.01 seconds between them"),
        (#""cut":0"#, "cut after 0 bytes"),
        (#""drop":"before""#, "dropped before it is processed"),
        (#""drop":"after""#, "dropped after it was processed"),
        (#""status":429"#, "status 429"),
        (#""status":{"code":200,"body":"<html>","content_type":"text/plain"}"#, "status 200"),
        (#""hang":true"#, "no answer"),
        (#""heartbeats_only":"1s""#, "only a heartbeat every 1.0 seconds on _changes"),
        (#""last_seq_early":2"#, "last_seq after 2 rows on _changes"),
        (#""duplicate":0.5"#, "0.5 of the rows twice on _changes"),
        (#""reorder":4,"on":"_changes""#, "rows shuffled in groups of 4 on _changes"),
        (#""rewind":9"#, "9 sequences back on _changes"),
        (#""session_expired":true"#, "session expired"),
        (#""refuse_documents":0.25"#, "0.25 of the documents refused with 403 on _bulk_docs"),
        (
            #""refuse_documents":{"share":1,"status":[500,503],"reason":"no"}"#,
            "1.0 of the documents refused with 500, 503 on _bulk_docs"
        ),
        (#""reset":true"#, "database reset, once"),
        (#""reset":true,"every":10"#, "database reset, one in 10"),
        (
            #""offline":"1h","after":"2s""#,
            "database offline for 3600.0 seconds, after 2.0 seconds, once"
        ),
        (#""hang":true,"on":"any""#, "no answer"),
    ])
    func everyActionIsParsed(members: String, description: String) throws {
        #expect(try fault(members).description == description)
    }

    @Test func scheduledFaultNeedsNoRequest() throws {
        #expect(try fault(#""reset":true,"after":"2s""#).scheduledAfter == .seconds(2))
        #expect(try fault(#""offline":"1s","after":"2s""#).scheduledAfter == .seconds(2))
        #expect(try fault(#""reset":true,"after":2"#).scheduledAfter == nil)
        #expect(try fault(#""reset":true,"after":"2s","share":0.1"#).scheduledAfter == nil)
        #expect(try fault(#""hang":true,"after":"2s","times":1"#).scheduledAfter == nil)
    }

    @Test(arguments: [
        ("", 1, 1, "the file must be JSON"), ("{\n  \"a\"}", 2, 6, "expected"),
        ("[]", 1, 1, "the file must be an object"),
        ("{\"faults\":[],\n\"sed\":1}", 2, 1, "unknown member \"sed\"; known are seed, faults"),
        ("{}", 1, 1, "\"faults\" must be a list"), (#"{"faults":{}}"#, 1, 11, "\"faults\" must be a list"),
        (#"{"seed":-1,"faults":[]}"#, 1, 9, "whole number of 0 or more"),
        (#"{"seed":1e99,"faults":[]}"#, 1, 9, "whole number of 0 or more"),
        (#"{"faults":[7]}"#, 1, 12, "a fault must be an object"),
        (#"{"faults":[{"on":"any"}]}"#, 1, 12, "the fault's effect is missing; write one of latency, slice"),
        (#"{"faults":[{"hang":true,"cut":1}]}"#, 1, 25, "a fault can do only one thing"),
        (#"{"faults":[{"hang":true,"hang":true}]}"#, 1, 25, "\"hang\" is given twice"),
        (#"{"faults":[{"hang":false}]}"#, 1, 20, "\"hang\" must be true"),
        (#"{"faults":[{"lantency":"1s"}]}"#, 1, 13, "unknown member \"lantency\""),
        (#"{"faults":[{"latency":200}]}"#, 1, 23, "a time such as \"200ms\""),
        (#"{"faults":[{"latency":"200"}]}"#, 1, 23, "a time such as \"200ms\""),
        (#"{"faults":[{"latency":["2s","1s"]}]}"#, 1, 23, "the lowest value comes first"),
        (#"{"faults":[{"latency":["2s"]}]}"#, 1, 23, "one value, or a list"),
        (#"{"faults":[{"latency":"99999999999999999999h"}]}"#, 1, 23, "a time such as"),
        (#"{"faults":[{"heartbeats_only":"0s"}]}"#, 1, 31, "longer than 0ms"),
        (#"{"faults":[{"cut":9223372036854775807}]}"#, 1, 19, "whole number of 0 or more"),
        (#"{"faults":[{"slice":0}]}"#, 1, 21, "whole number of 1 or more"),
        (#"{"faults":[{"slice":{}}]}"#, 1, 21, "\"bytes\" is missing"),
        (#"{"faults":[{"drop":"now"}]}"#, 1, 20, "\"before\" or \"after\""),
        (#"{"faults":[{"status":204}]}"#, 1, 22, "not 204, 205 or 304"),
        (#"{"faults":[{"status":{"code":101}}]}"#, 1, 30, "200 to 599"),
        (#"{"faults":[{"status":{"retry_after":1}}]}"#, 1, 22, "\"code\" is missing"),
        (#"{"faults":[{"status":{"code":503,"content_type":"a"}}]}"#, 1, 49, "needs a \"body\""),
        (#"{"faults":[{"refuse_documents":2}]}"#, 1, 32, "a number from 0 to 1"),
        (#"{"faults":[{"refuse_documents":{"status":[]}}]}"#, 1, 42, "is an empty list"),
        (#"{"faults":[{"refuse_documents":{"status":201}}]}"#, 1, 42, "400 to 599"),
        (#"{"faults":[{"reorder":1}]}"#, 1, 23, "whole number of 2 or more"),
        (#"{"faults":[{"reorder":2,"on":"_all_docs"}]}"#, 1, 30, "\"reorder\" applies only to _changes"),
        (#"{"faults":[{"hang":true,"on":"changes"}]}"#, 1, 30, "\"on\" must be any or one of database, _session"),
        (#"{"faults":[{"hang":true,"on":[]}]}"#, 1, 30, "leave it out for all requests"),
        (#"{"faults":[{"hang":true,"feed":"fast"}]}"#, 1, 32, "normal, longpoll or continuous"),
        (#"{"faults":[{"hang":true,"share":1.5}]}"#, 1, 33, "a number from 0 to 1"),
        (#"{"faults":[{"hang":true,"every":0}]}"#, 1, 33, "whole number of 1 or more"),
        (#"{"faults":[{"hang":true,"share":1,"every":2}]}"#, 1, 43, "\"share\" or \"every\", not both"),
        (#"{"faults":[{"hang":true,"after":"soon"}]}"#, 1, 33, "a number of requests, or a time"),
        (#"{"faults":[{"hang":true,"name":"a"},{"hang":true,"name":"a"}]}"#, 1, 57, "two faults are named \"a\""),
    ])
    func mistakesHaveTheirPosition(text: String, line: Int, column: Int, reason: String) throws {
        let error = #expect(throws: FaultPlanError.self) { try plan(text) }
        #expect(error?.mistakes.count == 1)
        #expect(error?.mistakes.first?.line == line)
        #expect(error?.mistakes.first?.column == column)
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }
    @Test func allMistakesAreReported() throws {
        let text = """
            {"sed": 1, "seed": -1, "faults": [
              {"status": 99, "on": "_changs", "times": 0, "extra": 1},
              {"latency": "soon", "share": 2, "for": "x", "feed": "fast"},
              5, {"name": "a"}, {"hang": true, "drop": "before", "name": 3}
            ]}
            """
        let error = #expect(throws: FaultPlanError.self) { try plan(text) }
        #expect(
            error?.mistakes.map { "\($0.line):\($0.column)" } == [
                "1:2", "1:20", "2:14", "2:24", "2:44", "2:47", "3:15", "3:32", "3:42", "3:55", "4:3", "4:6", "4:36",
                "4:62",
            ])
    }
}
