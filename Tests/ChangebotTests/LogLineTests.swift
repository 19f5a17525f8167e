import GatewayClient
import Logging
import LosslessJSON
import Testing

@testable import changebot

@Suite struct LogLineTests {
    private func json(_ fields: Logger.Metadata, message: String = "m") throws -> JSONText {
        let bytes = LogLine(.info, message, fields).json
        #expect(bytes.last == 0x0A && bytes.count { $0 == 0x0A } == 1)
        return try JSONText(Array(bytes.dropLast()))
    }

    /// The line without its time.
    private func text(_ fields: Logger.Metadata, message: String = "m") -> String {
        let line = String(decoding: LogLine(.info, message, fields).text, as: UTF8.self)
        return String(line.drop { $0 != " " }.dropFirst())
    }

    @Test func numbersAreNumbersAndTextIsText() throws {
        let line = try json([
            "documents": .stringConvertible(5), "exit": .stringConvertible(Int32(69)), "share": .stringConvertible(0.5),
            "id": "5", "on": .stringConvertible(true), "rules": ["a", .stringConvertible(2)], "line": "\(7)",
            "rate": "1.5", "code": "007", "big": "12345678901234567890",
        ])
        #expect(line.root["line"]?.integer == 7)
        #expect(line.root["rate"].map { String(decoding: $0.bytes, as: UTF8.self) } == "1.5")
        #expect(line.root["code"]?.string == "007" && line.root["big"]?.string == "12345678901234567890")
        #expect(line.root["documents"]?.integer == 5)
        #expect(line.root["exit"]?.integer == 69)
        #expect(line.root["share"].map { String(decoding: $0.bytes, as: UTF8.self) } == "0.5")
        #expect(line.root["id"]?.string == "5")
        #expect(line.root["on"]?.bool == true)
        #expect(line.root["rules"].map { String(decoding: $0.bytes, as: UTF8.self) } == #"["a",2]"#)
    }

    @Test(arguments: [(#""5""#, "5"), ("5", "5"), (#""2:5""#, "2:5"), (#""7-g1AAAA""#, "7-g1AAAA")])
    func sequenceIsQuotedOnce(sequence: String, word: String) throws {
        let sequence = try #require(SequenceID(sequence))
        let line = try json(["since": .stringConvertible(sequence)])
        #expect(line.root["since"].map { Array($0.bytes) } == sequence.json)
        #expect(text(["since": .stringConvertible(sequence)]) == "info m since=\(word)\n")
        // Most callers write it as a string.
        #expect(try json(["since": "\(sequence)"]).root["since"].map { Array($0.bytes) } == sequence.json)
        #expect(text(["since": "\(sequence)"]) == "info m since=\(word)\n")
    }

    /// Regression: `caught up` printed a sequence of CouchDB, which has hundreds of characters.
    @Test func longSequencesAreShortenedForPeople() throws {
        let sequence = "7-g1AAAA" + String(repeating: "x", count: 300)
        #expect(text(["since": "\(sequence)"]) == "info m since=7-g1AAAAxxxxxxxxxxxxxxxx…\n")
        #expect(try json(["since": "\(sequence)"]).root["since"]?.string == sequence)
    }

    /// Regression: CouchDB accepts ids of several kilobytes; one filled the screen.
    @Test func longNamesAreShortenedForPeople() throws {
        let id = String(repeating: "a", count: 200)
        #expect(text(["id": "\(id)", "reason": "r"]) == "info m id=\(id) reason=r\n")
        #expect(text(["id": "\(id)b", "reason": "r"]) == "info m id=\(id)… reason=r\n")
        #expect(text(["id": "e\(String(repeating: "\u{301}", count: 4000))"]).unicodeScalars.count < 250)
        #expect(try json(["id": "\(id)b"]).root["id"]?.string == id + "b")
        #expect(text(["reason": "\(id)b"]) == "info m reason=\(id)b\n")
    }

    @Test func textLinesQuoteSpecialCharacters() {
        #expect(
            text(["b": "two words", "a": "1", "c": "", "d": #"say "so""#], message: "connected")
                == #"info connected a=1 b="two words" d="say \"so\"""# + "\n")
    }

    /// Whatever a gateway, a document or a file name contains, it can neither start a new line nor control a terminal.
    @Test(arguments: ["\u{1B}]0;x\u{7}", "a\rb\nc", "\r\n", "\u{85}", "\u{9B}2J", "\u{202E}", "\u{2028}", "\u{7F}"])
    func controlCharactersAreEscaped(evil: String) throws {
        for bytes in [
            LogLine(.error, evil, ["\(evil)k": "\(evil)"]).text, LogLine(.error, evil, ["k": "\(evil)"]).json,
        ] {
            let line = String(decoding: bytes, as: UTF8.self).unicodeScalars.dropLast()
            #expect(bytes.last == 0x0A && line.allSatisfy { $0.isVisible }, "\(line)")
        }
        let line = try json(["k": "\(evil)"], message: evil).root
        #expect(line["message"]?.string?.utf8.elementsEqual(evil.utf8) == true)
        #expect(line["k"]?.string?.utf8.elementsEqual(evil.utf8) == true)
    }

    @Test(
        arguments: [
            ([], [:], .text), (["run", "--log-format", "json"], [:], .json),
            (["run", "--log-format=json"], [:], .json),
            (["run"], ["CHANGEBOT_LOG_FORMAT": "json"], .json),
            (["--log-format", "text"], ["CHANGEBOT_LOG_FORMAT": "json"], .text),
            (["import", "--", "--log-format", "json"], [:], .text), (["run", "--log-format"], [:], .text),
            (["run", "--log-format", "xml"], [:], .text),
        ] as [([String], [String: String], StandardErrorLog.Format)])
    func logFormatIsKnownBeforeParsing(
        arguments: [String], environment: [String: String], format: StandardErrorLog.Format
    ) {
        #expect(StandardErrorLog.Format.named(in: arguments, Environment(environment)) == format)
    }
}
