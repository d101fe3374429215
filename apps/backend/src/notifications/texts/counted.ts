/** A number with its noun, in a language that has the plural forms `one`, `few` and `many`. */
export function countedIn(language: 'pl' | 'uk') {
  const rules = new Intl.PluralRules(language);
  return (count: number, forms: { one: string; few: string; many: string }): string => {
    const rule = rules.select(count);
    return `${count} ${rule === 'one' || rule === 'few' ? forms[rule] : forms.many}`;
  };
}
