/// The places of a partition that were read, and which of them are answered: determines up to where no gap is left.
struct PartitionPlaces {
    /// The place of the last change that was read.
    private(set) var readUpTo: Int64
    /// Places that were read and are not below the position, in order.
    private var open = Queue<Int64>()
    private var answered: Set<Int64> = []
    private var position: Int64

    init(position: Int64) { (readUpTo, self.position) = (position, position) }

    /// The number of places that were read and are not below the position.
    var count: Int { open.count }

    /// - Precondition: `place` is after ``readUpTo``.
    mutating func read(_ place: Int64) {
        readUpTo = place
        open.append(place)
    }

    mutating func answer(_ place: Int64) { answered.insert(place) }

    /// Parked changes are below the position already, or were answered when they were parked.
    mutating func answer(_ places: [Int64]) {
        for place in places where place > position { answered.insert(place) }
    }

    /// - Returns: The place up to which all changes are answered.
    mutating func movePosition() -> Int64 {
        while let place = open.first, answered.remove(place) != nil || InjectedFleetFault.passingPosition.isActive {
            _ = open.popFirst()
            position = place
        }
        return position
    }
}

/// First in, first out.
struct Queue<Element> {
    private var elements: [Element] = []
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { head == elements.count }
    var first: Element? { isEmpty ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func prepend(_ element: Element) {
        if head > 0 {
            head -= 1
            elements[head] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    mutating func popFirst() -> Element? {
        guard let element = first else { return nil }
        head += 1
        if head > 64, head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }
}
