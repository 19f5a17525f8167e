import LosslessJSON
import Testing

@testable import GatewayClient

@Suite struct GatewayURLTests {
    @Test(arguments: [
        ("http://127.0.0.1:4985/todo", "http://127.0.0.1:4985", "todo", "todo"),
        ("https://Example.org/sync/todo/", "https://example.org/sync", "todo", "todo"),
        ("http://h/todo._default.tasks", "http://h", "todo._default.tasks", "todo"),
        ("http://h/todo.tasks", "http://h", "todo.tasks", "todo"),
        ("http://[::1]:4984/db", "http://[::1]:4984", "db", "db"),
    ])
    func baseAndKeyspaceAreParsed(text: String, base: String, keyspace: String, database: String) throws {
        let url = try GatewayURL(text)
        #expect(url.base == base)
        #expect(url.keyspace.pathSegment == keyspace)
        #expect(url.keyspace.database == database)
    }

    @Test func credentialsAreRemovedAndNeverPrinted() throws {
        let url = try GatewayURL("http://amy:s%40crEt%2F@h:1/todo")
        #expect(url.userInfo == .basic(user: "amy", password: "s@crEt/"))
        for text in ["\(url)", "\(url.userInfo as Any)", String(reflecting: url)] {
            #expect(!text.contains("crEt"))
        }
        var dumped = ""
        dump(url, to: &dumped)
        #expect(!dumped.contains("crEt"))
    }

    @Test(arguments: [
        ("wss://h/todo", "https://"), ("ws://h/todo", "http://"), ("ftp://h/todo", "not supported"),
        ("http://h", "no keyspace"), ("http://h/", "no keyspace"), ("http:///todo", "no host"),
        ("todo", "not a URL"), ("http://h/todo?x=1", "query"), ("http://h/a.b.c.d", "not a keyspace"),
        ("http://h/_all", "not a keyspace"), ("http://u%:p@h/todo", "percent-encoded"),
        ("http://amy@h/todo", "without a password"),
    ])
    func invalidURLErrorNamesTheMistake(text: String, part: String) {
        let error = #expect(throws: GatewayURLError.self) { try GatewayURL(text) }
        #expect(error?.description.contains(part) == true, "\(String(describing: error))")
    }

    @Test(arguments: [
        "amy:secret@h", "http://amy:s/secret@h/todo", "http://amy:secret/@h/todo", "http://h/x@secret/todo",
        "http://h:secret/todo", "http://h:70000/todo",
    ])
    func badURLDoesNotShowItsPassword(text: String) {
        let error = #expect(throws: GatewayURLError.self) { try GatewayURL(text) }
        #expect(error?.description.contains("secret") == false)
    }
}

@Suite struct SequenceIDTests {
    @Test(arguments: [
        ("5", "5", "5"), ("\"5\"", "\"5\"", "5"), ("\"2:5\"", "\"2:5\"", "2:5"), ("2:5", "\"2:5\"", "2:5"),
        ("\"1::5\"", "\"1::5\"", "1::5"), ("7-g1AAAA", "\"7-g1AAAA\"", "7-g1AAAA"),
        ("12345678901234567890123", "12345678901234567890123", "12345678901234567890123"),
    ])
    func sequenceKeepsItsJSONAndHasAQueryForm(text: String, json: String, query: String) throws {
        let sequence = try #require(SequenceID(text))
        #expect(sequence.description == json)
        #expect(sequence.queryValue == query)
    }

    @Test func emptyTextIsNotASequence() { #expect(SequenceID("") == nil) }

    @Test(
        arguments: [
            ("5", 5), ("\"5\"", 5), ("29:11", 29), ("4::8", 8), ("4:11:8", 11), ("7-g1AAAA", nil), ("a:b", nil),
            ("29:", 29), ("1:2:3:4", nil), ("::8", 8), (":8", nil), ("18446744073709551615", .max),
            ("18446744073709551616", nil), ("5.0", nil),
        ] as [(String, UInt64?)])
    func syncGatewayNumberIsExtracted(text: String, number: UInt64?) throws {
        #expect(try #require(SequenceID(text)).syncGatewayNumber == number)
    }

    /// The rows of a backfill share one trigger: the goal is passed only by a later row.
    @Test(arguments: [
        ("29:11", "29", false), ("30:1", "29", true), ("29", "29", true), ("4::29", "29", true),
        ("4:29:8", "29", false),
    ])
    func backfillDoesNotPassItsOwnTrigger(own: String, goal: String, passed: Bool) throws {
        #expect(try #require(SequenceID(own)).hasPassed(try #require(SequenceID(goal))) == passed)
    }

    /// Sync Gateway's `last_seq` is a string, while its rows have numbers.
    @Test(arguments: [
        (#""5""#, "4", "5"), (#""5""#, "5", "5"), (#""5""#, #""4""#, #""5""#), ("5", #""4""#, "5"),
        (#""5""#, #""1::4""#, "5"), (#""2:5""#, "4", #""2:5""#), (#""7-g1AAAA""#, "0", #""7-g1AAAA""#),
        (#""007""#, "4", #""007""#), (#""18446744073709551616""#, "4", #""18446744073709551616""#),
    ])
    func stringOfDigitsBecomesNumberAmongNumbers(text: String, other: String, result: String) throws {
        let sequence = try #require(SequenceID(text)).spelled(like: try #require(SequenceID(other)))
        #expect(sequence.description == result)
    }

    @Test func passingIsKnownOnlyForNumbersAndEqualSequences() throws {
        let five = try #require(SequenceID("5"))
        let opaque = try #require(SequenceID("7-g1"))
        #expect(five.hasPassed(try #require(SequenceID("\"5\""))) == true)
        #expect(five.hasPassed(try #require(SequenceID("6"))) == false)
        #expect(opaque.hasPassed(opaque) == true)
        #expect(opaque.hasPassed(five) == nil)
    }
}

@Suite struct DialectTests {
    @Test(
        arguments: [
            ("Couchbase Sync Gateway/4.1.1 CE", .syncGateway), ("CouchDB/3.5.0 (Erlang OTP/25)", .couchDB),
            ("nginx/1.22", nil), (nil, nil),
        ] as [(String?, GatewayDialect?)])
    func dialectIsDetectedByTheServerHeader(header: String?, dialect: GatewayDialect?) {
        #expect(GatewayDialect(serverHeader: header) == dialect)
    }

    /// Regression: a CouchDB with another `[vendor] name` was mistaken for a Sync Gateway.
    @Test(
        arguments: [
            (#"{"vendor":{"name":"Couchbase Sync Gateway","version":"4.1"}}"#, .syncGateway),
            (#"{"vendor":{"name":"The Apache Software Foundation"}}"#, .couchDB),
            (#"{"version":"3.5.0","git_sha":"11f0d36","vendor":{"name":"Acme"}}"#, .couchDB),
            (#"{"uuid":"01","vendor":{"name":"Acme"}}"#, .couchDB), (#"{"features":["quickjs"]}"#, .couchDB),
            (#"{"version":"Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE","vendor":{"name":"Acme"}}"#, .syncGateway),
            (#"{"persistent_config":false}"#, .syncGateway), (#"{"node_uid":"43"}"#, .syncGateway),
            (#"{"couchdb":"Welcome","version":"1.0","vendor":{"name":"Acme"}}"#, nil), ("{}", nil),
        ] as [(String, GatewayDialect?)])
    func dialectIsDetectedByTheGreeting(greeting: String, dialect: GatewayDialect?) throws {
        #expect(GatewayDialect(greeting: try #require(SmallJSON(Array(greeting.utf8)))) == dialect)
    }

    @Test(
        arguments: [
            (#"{"db_name":"todo","update_seq":7,"committed_update_seq":7,"state":"Online"}"#, .syncGateway),
            (#"{"db_name":"todo","update_seq":"0-g1","sizes":{},"doc_count":0,"cluster":{"q":2}}"#, .couchDB),
            (#"{"db_name":"todo","update_seq":7}"#, nil),
        ] as [(String, GatewayDialect?)])
    func dialectIsDetectedByTheDatabaseInfo(information: String, dialect: GatewayDialect?) throws {
        #expect(GatewayDialect(information: try #require(SmallJSON(Array(information.utf8)))) == dialect)
    }
}
