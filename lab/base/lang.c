#include "lab/base/lang.h"

#include <stdlib.h>
#include <string.h>

static bwl_lang now = BWL_LANG_EN;

bool bwl_lang_set(const char *name)
{
    bool is_zh = strcmp(name, "zh") == 0;

    if (!is_zh && strcmp(name, "en") != 0)
        return false;
    now = is_zh ? BWL_LANG_ZH : BWL_LANG_EN;
    return true;
}

void bwl_lang_set_by_environment(void)
{
    static const char *const names[] = { "LC_ALL", "LC_MESSAGES", "LANG" };

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || value[0] == '\0')
            continue;
        now = strncmp(value, "zh", 2) == 0 ? BWL_LANG_ZH : BWL_LANG_EN;
        return;
    }
}

bwl_lang bwl_lang_now(void)
{
    return now;
}

static const char *find(const bwl_translations *table, const char *english)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->list[i].english, english) == 0)
            return table->list[i].chinese;
    return NULL;
}

const char *bwl_tr(const char *english)
{
    static const bwl_translations *const tables[] = {
        &bwl_zh,       &bwl_zh_diagrams, &bwl_zh_explain,   &bwl_zh_lock_files,
        &bwl_zh_locks, &bwl_zh_pages,    &bwl_zh_scenarios, &bwl_zh_settings,
    };
    const char *chinese = NULL;

    if (now != BWL_LANG_ZH)
        return english;
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0] && chinese == NULL; i++)
        chinese = find(tables[i], english);
    return chinese != NULL ? chinese : english;
}
