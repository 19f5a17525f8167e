internal import Glibc

/// Colours text for one of the program's streams, if that is wanted. ANSI codes occur only in this file.
///
/// - Note: Source: ECMA-48, section 8.3.117 (SGR); no-color.org.
struct TerminalStyle: Sendable {
    /// The values of `--color`.
    enum Choice: String, CaseIterable, Sendable {
        case auto, always, never

        static let `default` = Choice.auto
    }

    enum Stream: Sendable {
        case standardOutput, standardError

        fileprivate var descriptor: Int32 {
            switch self {
            case .standardOutput: STDOUT_FILENO
            case .standardError: STDERR_FILENO
            }
        }
    }

    /// The columns of a terminal whose width is unknown.
    static let defaultWidth = 80

    /// Without colours.
    static let plain = TerminalStyle(.never, isTerminal: false)

    let isColored: Bool
    /// Whether a line can be redrawn: on a terminal, unless `TERM` is `dumb`.
    let canRedraw: Bool

    /// - Parameter environment: A non-empty `NO_COLOR`, or `TERM=dumb`, turns colours off unless `choice` is `always`.
    init(_ choice: Choice, environment: Environment, stream: Stream) {
        self.init(
            choice, isTerminal: Self.isTerminal(stream), noColor: environment.variable("NO_COLOR"),
            terminal: environment.variable("TERM"))
    }

    init(_ choice: Choice, isTerminal: Bool, noColor: String? = nil, terminal: String? = nil) {
        canRedraw = isTerminal && terminal != "dumb"
        isColored =
            switch choice {
            case .always: true
            case .never: false
            case .auto: canRedraw && (noColor ?? "").isEmpty
            }
    }

    static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.descriptor) == 1 }

    /// The current width of the terminal, in columns.
    static func width(of stream: Stream) -> Int {
        var size = winsize()
        guard ioctl(stream.descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return defaultWidth }
        return Int(size.ws_col)
    }

    func green(_ text: String) -> VisibleLine { marked(text, "32") }
    func red(_ text: String) -> VisibleLine { marked(text, "31") }
    func yellow(_ text: String) -> VisibleLine { marked(text, "33") }
    func bold(_ text: String) -> VisibleLine { marked(text, "1") }
    func dim(_ text: String) -> VisibleLine { marked(text, "2") }

    private func marked(_ text: String, _ code: StaticString) -> VisibleLine {
        isColored && !text.isEmpty ? VisibleLine(text, color: code) : VisibleLine(text)
    }
}

/// Codes that move the cursor.
enum TerminalControl {
    /// Moves to the first column and clears the line.
    static let clearLine = "\r\u{1B}[K"
    /// Moves to the first line and clears the screen.
    static let clearScreen = "\u{1B}[H\u{1B}[J"
}
