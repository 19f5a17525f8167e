#include "embedded_files.h"

// #embed is C23; clang has it in every version of C, and builds this file again when what it embeds changes.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char rules[] = {
#embed "../../rules/attach-images.yaml"
};

static const unsigned char groceries[] = {
#embed "../../assets/groceries.ndjson"
};

static const unsigned char apple[] = {
#embed "../../assets/apple.png"
};

static const unsigned char coffee[] = {
#embed "../../assets/coffee.png"
};

static const unsigned char potatoes[] = {
#embed "../../assets/potatoes.png"
};

static const unsigned char schema[] = {
#embed "../../assets/rule-file.schema.json"
};

static const unsigned char configuration[] = {
#embed "../../assets/configuration.schema.json"
};

static const unsigned char page[] = {
#embed "../../assets/status-page.html"
};

static const unsigned char playground[] = {
#embed "../../assets/rules-page.html"
};

static const struct embedded_file files[] = {
    {"rules/attach-images.yaml", rules, sizeof rules},
    {"assets/groceries.ndjson", groceries, sizeof groceries},
    {"assets/apple.png", apple, sizeof apple},
    {"assets/coffee.png", coffee, sizeof coffee},
    {"assets/potatoes.png", potatoes, sizeof potatoes},
};

const size_t demo_file_count = sizeof files / sizeof *files;

const struct embedded_file *demo_file_at(size_t index) { return &files[index]; }

const struct embedded_file status_page = {"assets/status-page.html", page, sizeof page};

const struct embedded_file rule_file_schema = {"assets/rule-file.schema.json", schema, sizeof schema};

const struct embedded_file configuration_schema = {
    "assets/configuration.schema.json", configuration, sizeof configuration};

const struct embedded_file rules_page = {"assets/rules-page.html", playground, sizeof playground};
