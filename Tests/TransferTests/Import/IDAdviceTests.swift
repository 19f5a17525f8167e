import LosslessJSON
import Testing

@testable import Transfer

/// A document without a usable `_id`: the message names the member that was probably meant, and what to write.
@Suite struct IDAdviceTests {
    private func row(_ header: String, _ document: String, delimiter: CSVDelimiter = .comma) throws -> String {
        IDAdvice(.row([], header: Array(header.utf8)), delimiter: delimiter)
            .reasonWithoutID(try JSONText(document).root)
    }

    @Test(arguments: [
        ("_ID", #"{ _id: { jq: ._ID }, _ID: null }"#), ("id", #"{ _id: { jq: .id }, id: null }"#),
        ("Id", #"{ _id: { jq: .Id }, Id: null }"#), ("ID", #"{ _id: { jq: .ID }, ID: null }"#),
        (" _id", #"{ _id: { jq: '.[" _id"]' }, " _id": null }"#), ("uuid", "jq: .uuid"),
        ("Bike ID", #"{ _id: { jq: '.["Bike ID"]' }, "Bike ID": null }"#), ("bike_id", "jq: .bike_id"),
        ("bikeId", "jq: .bikeId"), ("docId", "jq: .docId"), ("_id\u{FEFF}", "jq: '.[\"_id"),
    ])
    func columnThatWasMeantIsNamed(name: String, merge: String) throws {
        let reason = try row("\(name),frame", #"{"\#(name)":"b1","frame":"steel"}"#)
        #expect(
            reason.hasPrefix("it has no _id, but a column '\(name)': rename the column to '_id' in the header, or give")
                && reason.contains(merge), "\(reason)")
    }

    @Test func delimiterOfTheHeaderCounts() throws {
        let semicolon = try #require(CSVDelimiter(";"))
        #expect(try row("ID;frame", #"{"ID":"1"}"#, delimiter: semicolon).contains("a column 'ID'"))
        #expect(try row("sep=;\nID;frame", #"{"ID":"1"}"#).contains("a column 'ID'"))
        #expect(try row("ID:number,frame", #"{"ID":1}"#).contains("{ _id: { jq: '.ID | tostring' }, ID: null }"))
    }

    @Test func emptyCellIsNamed() throws {
        #expect(
            try row("_id,frame", #"{"frame":"x"}"#) == "it has no _id: its cell in the column '_id' is empty; fill it")
    }

    /// Several ids may refer to other documents.
    @Test(arguments: ["frame,color", "customerId,bikeId", "paid,valid"])
    func unclearColumnsAreNotNamed(header: String) throws {
        #expect(try row(header, "{}") == "it has no _id; a mapping (--map) can give it one")
    }

    @Test(arguments: [
        (
            #"{"ID":5}"#,
            "it has no _id, but 'ID'; give it one with a mapping (--map): merge: { _id: { jq: '.ID | tostring'"
        ),
        (#"{"id":"x"}"#, "merge: { _id: { jq: .id }, id: null }"),
        (
            #"{"shop":"x","bikes":[{"_id":"b1"}]}"#,
            "a list 'bikes' of documents; import that list alone: extract it with jq '.bikes'"
        ),
        (#"{"id":{"a":1}}"#, "it has no _id; a mapping (--map) can give it one"),
    ])
    func memberThatWasMeantIsNamed(document: String, part: String) throws {
        let reason = IDAdvice(.json([]), delimiter: .comma).reasonWithoutID(try JSONText(document).root)
        #expect(reason.contains(part), "\(reason)")
    }

    @Test func idOfAnotherTypeHasARemedy() throws {
        let json = IDAdvice(.json([]), delimiter: .comma)
        let row = IDAdvice(.row([], header: Array("_id:number".utf8)), delimiter: .comma)
        let number = try JSONText("5")
        #expect(json.reason(for: number.root).contains("merge: { _id: { jq: '._id | tostring' } }"))
        #expect(
            row.reason(for: number.root) == "its _id is a number, not a string; name the column '_id', without a type")
        #expect(json.reason(for: try JSONText("null").root).hasPrefix("its _id is not a string; "))
    }
}
