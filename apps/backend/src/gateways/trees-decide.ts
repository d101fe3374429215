/** Trees of topics: a tree `a/b` has the topics `a/b/…`. */

/** Characters that a topic of a message cannot have (MQTT 3.1.1, sections 1.5.3 and 4.7), and control characters. */
const odd = /[+#\u0000-\u001f\u007f]/;
const longest = 1_024;

/** Whether it is a topic of one of these trees. */
export const isWithin = (trees: readonly string[], topic: string): boolean =>
  topic.length <= longest && !odd.test(topic) && trees.some((tree) => topic.startsWith(`${tree}/`));

/** Whether one of them has topics of the others. */
export const overlap = (one: readonly string[], others: readonly string[]): boolean =>
  one.some((tree) => others.some((other) => isBelow(tree, other) || isBelow(other, tree)));

const isBelow = (one: string, other: string): boolean => `${one}/`.startsWith(`${other}/`);
