extension BinaryInteger {
    /// `1 document`, `2 documents`.
    package func counted(_ noun: String) -> String { "\(self) \(inflected(noun))" }

    /// The noun without the number: `document` for 1, otherwise `documents`.
    package func inflected(_ noun: String) -> String { self == 1 ? noun : noun + "s" }
}
