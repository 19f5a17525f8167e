import LosslessJSON
import Testing

@Suite struct ScannerTests {
    @Test(arguments: ["{}", "[]", "[1,2]", "{\"a\":{\"b\":[]},\"c\":null}", " 1 ", "-0.5e+7", "\"\\u00e9\""])
    func acceptsJSON(text: String) throws {
        _ = try JSONText(text)
    }
}
