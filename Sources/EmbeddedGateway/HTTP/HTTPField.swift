/// One line of a head: a name, compared without regard to case, and its value.
struct HTTPField: Equatable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
