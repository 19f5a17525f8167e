#include "embedded_files.h"

// As in embedded_files.c.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char attach_picture[] = {
#embed "../../rules/examples/recipes/attach-picture.yaml"
};

static const unsigned char copy_to_children[] = {
#embed "../../rules/examples/recipes/copy-to-children.yaml"
};

static const unsigned char count_by_group[] = {
#embed "../../rules/examples/recipes/count-by-group.yaml"
};

static const unsigned char count_elements[] = {
#embed "../../rules/examples/recipes/count-elements.yaml"
};

static const unsigned char delete_children[] = {
#embed "../../rules/examples/recipes/delete-children.yaml"
};

static const unsigned char delete_when_old[] = {
#embed "../../rules/examples/recipes/delete-when-old.yaml"
};

static const unsigned char derive_total[] = {
#embed "../../rules/examples/recipes/derive-total.yaml"
};

static const unsigned char keep_last_version[] = {
#embed "../../rules/examples/recipes/keep-last-version.yaml"
};

static const unsigned char log_changes[] = {
#embed "../../rules/examples/recipes/log-changes.yaml"
};

static const unsigned char notify_when_changed[] = {
#embed "../../rules/examples/recipes/notify-when-changed.yaml"
};

static const unsigned char notify_when_done[] = {
#embed "../../rules/examples/recipes/notify-when-done.yaml"
};

static const unsigned char remind[] = {
#embed "../../rules/examples/recipes/remind.yaml"
};

static const unsigned char set_default[] = {
#embed "../../rules/examples/recipes/set-default.yaml"
};

static const unsigned char trim_text[] = {
#embed "../../rules/examples/recipes/trim-text.yaml"
};

static const struct embedded_file recipes[] = {
    {"attach-picture", attach_picture, sizeof attach_picture},
    {"copy-to-children", copy_to_children, sizeof copy_to_children},
    {"count-by-group", count_by_group, sizeof count_by_group},
    {"count-elements", count_elements, sizeof count_elements},
    {"delete-children", delete_children, sizeof delete_children},
    {"delete-when-old", delete_when_old, sizeof delete_when_old},
    {"derive-total", derive_total, sizeof derive_total},
    {"keep-last-version", keep_last_version, sizeof keep_last_version},
    {"log-changes", log_changes, sizeof log_changes},
    {"notify-when-changed", notify_when_changed, sizeof notify_when_changed},
    {"notify-when-done", notify_when_done, sizeof notify_when_done},
    {"remind", remind, sizeof remind},
    {"set-default", set_default, sizeof set_default},
    {"trim-text", trim_text, sizeof trim_text},
};

const size_t recipe_count = sizeof recipes / sizeof *recipes;

const struct embedded_file *recipe_at(size_t index) { return &recipes[index]; }
