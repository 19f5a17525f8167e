internal import LosslessJSON

extension RelatedSelector {
    /// The ids that the selector names; no other document can match. Nil if it names none.
    package var ids: [String]? { selector.namedIDs }
}

extension Selector {
    /// See ``RelatedSelector/ids``. CouchDB compares ids by their bytes.
    var namedIDs: [String]? {
        requirements.compactMap { $0.path.isID ? $0.condition.namedTexts : nil }.min { $0.count < $1.count }
    }

    /// The conditions that must all hold.
    var requirements: [(path: FieldPath, condition: Condition)] {
        switch self {
        case .all(let selectors): selectors.flatMap(\.requirements)
        case .field(let path, let condition): [(path, condition)]
        case .any, .not, .none, .value: []
        }
    }
}

extension Condition {
    /// The texts that the condition accepts. Nil if it is not limited to certain texts.
    fileprivate var namedTexts: [String]? {
        switch self {
        case .compare(.equal, let literal): [literal].compactMap(\.value.string)
        case .isIn(let literals): literals.compactMap(\.value.string)
        default: nil
        }
    }
}
