/// Tracks the brackets of a script to find object members that ES5 lacks: `{a}`, `{m() {}}`, `{[a]: 1}`.
struct LiteralStructure {
    enum Token {
        /// A name, reserved word, number, text or regular expression.
        case value(ArraySlice<UInt8>)
        /// One character of an operator or bracket.
        case sign(UInt8)
    }

    private enum Bracket {
        case block
        case literal
        /// Round or square.
        case other
    }

    /// The part of the innermost object's member that has been read.
    private enum Member {
        case none
        case name
        /// `get` or `set`: the name may follow.
        case accessor
        /// The rest is read until the next comma.
        case rest
    }

    private var open: [Bracket] = []
    private var member = Member.rest
    /// For each open bracket, and outside of brackets, the number of question marks that still need their colon.
    private var conditions = [0]
    /// Whether the last colon belongs to `a ? b : c`, and not to a label, a `case` or a member.
    private var endsCondition = false
    private var previous: Token?

    /// Whether a statement begins with the next token.
    var isAtStatement: Bool {
        guard open.last != .literal, case .sign(let sign)? = previous else { return false }
        return [UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ";")].contains(sign)
    }

    /// - Returns: The token, if a member of an object can't have it there.
    mutating func note(_ token: Token) -> Character? {
        defer { previous = token }
        if open.last == .literal, let unexpected = noteMember(token) { return unexpected }
        guard case .sign(let sign) = token else { return nil }
        switch sign {
        case UInt8(ascii: "{"):
            let isLiteral = opensLiteral
            push(isLiteral ? .literal : .block)
            if isLiteral { member = .none }
        case UInt8(ascii: "("), UInt8(ascii: "["): push(.other)
        case UInt8(ascii: "}"), UInt8(ascii: ")"), UInt8(ascii: "]"):
            _ = open.popLast()
            if conditions.count > 1 { conditions.removeLast() }
            member = .rest
        case UInt8(ascii: "?"): conditions[conditions.count - 1] += 1
        case UInt8(ascii: ":"):
            endsCondition = conditions[conditions.count - 1] > 0
            if endsCondition { conditions[conditions.count - 1] -= 1 }
        default: break
        }
        return nil
    }

    private mutating func push(_ bracket: Bracket) {
        open.append(bracket)
        conditions.append(0)
    }

    private mutating func noteMember(_ token: Token) -> Character? {
        switch (member, token) {
        case (.none, .value(let name)):
            member = name.elementsEqual("get".utf8) || name.elementsEqual("set".utf8) ? .accessor : .name
        case (.none, .sign(UInt8(ascii: "["))): return "["
        case (.accessor, .value): member = .rest
        case (.name, .sign(UInt8(ascii: ":"))), (.accessor, .sign(UInt8(ascii: ":"))): member = .rest
        case (.name, .sign(let sign)), (.accessor, .sign(let sign)):
            if "(,}".utf8.contains(sign) { return Character(Unicode.Scalar(sign)) }
        case (.rest, .sign(UInt8(ascii: ","))): member = .none
        default: break
        }
        return nil
    }

    private static let beforeValues: Set<String> = [
        "return", "typeof", "case", "in", "delete", "void", "throw", "new", "instanceof",
    ]

    /// Whether a brace here begins an object instead of a block.
    private var opensLiteral: Bool {
        switch previous {
        case nil: false
        case .value(let word)?: Self.beforeValues.contains(String(decoding: word, as: UTF8.self))
        case .sign(UInt8(ascii: ":"))?: open.last == .literal || endsCondition
        case .sign(let sign)?: !");{}".utf8.contains(sign)
        }
    }
}
