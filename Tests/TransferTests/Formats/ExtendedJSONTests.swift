import LosslessJSON
import Testing

@testable import Transfer

/// Conversion of MongoDB's types to plain JSON.
@Suite struct ExtendedJSONTests {
    @Test(arguments: [
        (#"{"$oid":"5d505646cf6d4fe581014ab2"}"#, #""5d505646cf6d4fe581014ab2""#),
        (#"{"\u0024oid":"5D505646CF6D4FE581014AB2"}"#, #""5D505646CF6D4FE581014AB2""#),
        (#"{"$symbol":"a\nb"}"#, #""a\nb""#),
        (#"{"$numberInt":"-42"}"#, "-42"),
        (#"{"$numberLong":"9223372036854775807"}"#, "9223372036854775807"),
        (#"{"$numberLong":12}"#, "12"),
        (#"{"$numberDouble":"1.0"}"#, "1.0"),
        (#"{"$numberDouble":"-0.0"}"#, "-0.0"),
        (#"{"$numberDouble":"1E+20"}"#, "1E+20"),
        (#"{"$numberDouble":"NaN"}"#, #""NaN""#),
        (#"{"$numberDouble":"-Infinity"}"#, #""-Infinity""#),
        (#"{"$numberDecimal":"0.10"}"#, "0.10"),
        (#"{"$numberDecimal":"1E+6111"}"#, "1E+6111"),
        (#"{"$numberDecimal":"007.50"}"#, #""007.50""#),
        (#"{"$numberDecimal":"Infinity"}"#, #""Infinity""#),
        (#"{"$date":{"$numberLong":"1565546054692"}}"#, #""2019-08-11T17:54:14.692Z""#),
        (#"{"$date":1565546054692}"#, #""2019-08-11T17:54:14.692Z""#),
        (#"{"$date":"2019-08-11T17:54:14Z"}"#, #""2019-08-11T17:54:14.000Z""#),
        (#"{"$date":"2019-08-11T17:54:14.692Z"}"#, #""2019-08-11T17:54:14.692Z""#),
        (#"{"$date":"2014-02-18T10:36:54.5-0500"}"#, #""2014-02-18T15:36:54.500Z""#),
        (#"{"$date":"2020-02-29T23:30+01:00"}"#, #""2020-02-29T22:30:00.000Z""#),
        (#"{"$date":"2019-08-11T17:54:14.1234567Z"}"#, #""2019-08-11T17:54:14.1234567Z""#),
        (#"{"$date":{"$numberLong":"-1"}}"#, #""1969-12-31T23:59:59.999Z""#),
        (#"{"$date":{"$numberLong":"-62135596800000"}}"#, #""0001-01-01T00:00:00.000Z""#),
        (#"{"$date":{"$numberLong":"253402300800000"}}"#, #""+010000-01-01T00:00:00.000Z""#),
        (#"{"$date":{"$numberLong":"-8640000000000000"}}"#, #""-271821-04-20T00:00:00.000Z""#),
        (#"{"$binary":{"base64":"AQID","subType":"00"}}"#, #""AQID""#),
        (#"{"$binary":{"base64":"","subType":"80"}}"#, #""""#),
        (#"{"$binary":"Pz8\/","$type":"0"}"#, #""Pz8\/""#),
        (#"{"$binary":{"base64":"AQ\u003d\u003d","subType":"00"}}"#, #""AQ\u003d\u003d""#),
        (#"{"$binary":{"base64":"AQID\r\nBAUG\n","subType":"00"}}"#, #""AQIDBAUG""#),
        (
            #"{"$binary":{"base64":"c//SZESz\nTGmQ6OfR38A11A\u003d=","subType":"04"}}"#,
            #""73ffd264-44b3-4c69-90e8-e7d1dfc035d4""#
        ),
        (#"{"$type":2,"$binary":"AQ=="}"#, #""AQ==""#),
        (
            #"{"$binary":{"base64":"c//SZESzTGmQ6OfR38A11A==","subType":"04"}}"#,
            #""73ffd264-44b3-4c69-90e8-e7d1dfc035d4""#
        ),
        (
            #"{"$binary":{"base64":"c//SZESzTGmQ6OfR38A11A==","subType":"03"}}"#, #""c//SZESzTGmQ6OfR38A11A==""#
        ),
        (#"{"$uuid":"73ffd264-44b3-4c69-90e8-e7d1dfc035d4"}"#, #""73ffd264-44b3-4c69-90e8-e7d1dfc035d4""#),
        (#"{"$regularExpression":{"pattern":"^a\"","options":"im"}}"#, #""/^a\"/im""#),
        (#"{"$regex":"b+","$options":""}"#, #""/b+/""#),
        (#"{"$timestamp":{"t":42,"i":1}}"#, #"{"t":42,"i":1}"#),
        (#"{"$code":"f()"}"#, #""f()""#),
        (
            #"{"$code":"f()","$scope":{"x":{"$numberInt":"1"}}}"#, #"{"code":"f()","scope":{"x":1}}"#
        ),
        (
            #"{"$dbPointer":{"$ref":"db.c","$id":{"$oid":"5d505646cf6d4fe581014ab2"}}}"#,
            #"{"$ref":"db.c","$id":"5d505646cf6d4fe581014ab2"}"#
        ),
        (
            #"{"$ref":"c","$id":{"$oid":"5d505646cf6d4fe581014ab2"},"$db":"d"}"#,
            #"{"$ref":"c","$id":"5d505646cf6d4fe581014ab2","$db":"d"}"#
        ),
        (#"{"$minKey":1}"#, #""MinKey""#),
        (#"{"$maxKey":1}"#, #""MaxKey""#),
        (#"{"$undefined":true}"#, "null"),
    ])
    func wrappersBecomePlainJSON(wrapper: String, plain: String) throws {
        let document = "{\"before\" : 1.10, \"list\": [\(wrapper), {\"in\":\(wrapper)}] }"
        let expected = "{\"before\" : 1.10, \"list\": [\(plain), {\"in\":\(plain)}] }"
        let text = try ExtendedJSON.plain(JSONText(document))
        #expect(String(decoding: text.bytes, as: UTF8.self) == expected)
    }

    @Test(arguments: [
        #"{"a":1}"#, #"{"$oid":"x","a":1}"#, #"{"a":1,"$oid":5}"#, #"{"$unknown":1}"#, #"{"$oid":"a","$oid":"b"}"#,
        #"{"$regex":"a"}"#, #"{"$type":1}"#, #"{"$binary":"x","$options":1}"#, #"{"$date":1,"$x":2}"#, "{}",
        #"{"$code":"a","$scope":{},"b":1}"#, #"{"oid":"$oid"}"#, #"{"\\u0024":1}"#,
    ])
    func otherObjectsAreUnchanged(object: String) throws {
        for document in [object, "{\"a\":[\(object)]}"] {
            let text = try JSONText(document)
            #expect(try ExtendedJSON.plain(text) === text)
        }
    }

    @Test(arguments: [
        (#"{"$oid":"5d50"}"#, "24 hexadecimal digits", 8), (#"{"$oid":5}"#, "24 hexadecimal digits", 8),
        (#"{"$numberInt":"2147483648"}"#, "a 32-bit integer", 14),
        (#"{"$numberLong":"1.5"}"#, "a 64-bit integer", 15),
        (#"{"$numberLong":"NaN"}"#, "a 64-bit integer", 15),
        (#"{"$numberDouble":" 1"}"#, "a number, NaN, Infinity or -Infinity", 17),
        (#"{"$numberDecimal":"ten"}"#, "a decimal number, NaN, Infinity or -Infinity", 18),
        (#"{"$date":"2019-02-29T00:00:00Z"}"#, "milliseconds, or an ISO 8601 date and time with a time zone", 9),
        (#"{"$date":"2019-02-28"}"#, "milliseconds, or an ISO 8601 date and time with a time zone", 9),
        (#"{"$date":{"$numberInt":"1"}}"#, "milliseconds, or an ISO 8601 date and time with a time zone", 9),
        (#"{"$date":9223372036854775807}"#, "milliseconds, or an ISO 8601 date and time with a time zone", 9),
        (
            #"{"$binary":{"base64":"AQI","subType":"00"}}"#,
            "base64 and a subtype; this is \(InlineBase64Error.incomplete)",
            21
        ),
        (
            #"{"$binary":{"base64":"A===","subType":"00"}}"#, "base64 and a subtype; this is not base64", 21
        ),
        (
            #"{"$binary":{"base64":"-_8=","subType":"00"}}"#,
            "base64 and a subtype; this is \(InlineBase64Error.otherAlphabet)", 21
        ),
        (#"{"$binary":{"base64":"AQID"}}"#, "base64 and a subtype", 11),
        (#"{"$binary":"AQID","$type":"100"}"#, "base64 and a subtype", 11),
        (#"{"$uuid":"73ffd26444b34c6990e8e7d1dfc035d4"}"#, "a 36-character UUID", 9),
        (#"{"$regularExpression":{"pattern":"a"}}"#, "a pattern and options, both strings", 22),
        (#"{"$timestamp":{"t":1}}"#, "the integers t and i", 14),
        (#"{"$minKey":2}"#, "the number 1", 11), (#"{"$undefined":null}"#, "true", 14),
        (#"{"$code":1,"$scope":{}}"#, "a string", 9), (#"{"$code":"","$scope":1}"#, "a $scope that is an object", 21),
        (#"{"$dbPointer":{"$ref":"c","$id":"x"}}"#, "$ref, a string, and $id, an $oid", 14),
    ])
    func malformedWrapperIsError(wrapper: String, expected: String, offset: Int) throws {
        let text = try JSONText("{\"a\":\(wrapper)}")
        let name = try #require(wrapper.split(separator: "\"").dropFirst().first)
        #expect(throws: ExtendedJSONError(wrapper: String(name), expected: expected, offset: offset + 5)) {
            try ExtendedJSON.plain(text)
        }
    }

    @Test func deepNestingDoesNotCrash() throws {
        let depth = 4000
        let deep =
            String(repeating: "{\"$a\":[", count: depth) + #"{"$numberInt":"1"}"#
            + String(repeating: "]}", count: depth)
        let text = try ExtendedJSON.plain(JSONText(deep))
        #expect(text.bytes.count == deep.utf8.count - 17)
        let dates = String(repeating: "{\"$date\":", count: depth) + "1" + String(repeating: "}", count: depth)
        #expect(throws: ExtendedJSONError.self) { try ExtendedJSON.plain(JSONText(dates)) }
    }

    @Test func mongoDBExportIsRecognizedByItsIDs() {
        let line = #"{"_id":{"$oid":"5d505646cf6d4fe581014ab2"},"n":{"$numberInt":"1"}}"#
        let plain = document(#"{"_id":"5d505646cf6d4fe581014ab2","n":1}"#, 1)
        #expect(read(line) == [plain])
        #expect(read("[\(line)]") == [plain])
        #expect(read(line, as: .ejson) == [plain])
        #expect(read(line, as: .ndjson) == [document(line, 1)])
        #expect(read("{\"_id\":\"a\"}\n\(line)") == [document(#"{"_id":"a"}"#, 1), document(line, 2)])
    }

    @Test func errorNamesItsPlaceInFile() {
        let line = #"{"ä":1,"d":{"$date":"soon"}}"#
        #expect(
            read("{}\n\(line)\n{}", as: .ejson) == [
                document("{}", 1),
                error("2:21: $date needs milliseconds, or an ISO 8601 date and time with a time zone", line),
                document("{}", 3),
            ])
    }
}
