import { ownValue } from '@station/protocol/own-value';
/** One variable, declared once: its check, its default and its help text. */
type Variable<T = unknown> = {
  readonly check: Check<T>;
  /** What it does, in one or two plain sentences. */
  readonly help: string;
  /** Written as in the environment file. `check` reads it like any other value. */
  readonly default?: string;
  /** What applies when it is unset, in words, when the default depends on something else. */
  readonly otherwise?: string;
  /** Shown in the example file instead of a default. */
  readonly example?: string;
  readonly required?: true;
  /** The value is never shown. */
  readonly secret?: true;
  readonly group?: string;
};
export type Variables = Readonly<Record<string, Variable>>;

/** Returns the typed value, or the requirement it misses. The requirement never contains the value, which may be a secret. */
export type Check<T> = {
  (text: string, context: CheckContext): Checked<T>;
  /** The same for install.sh; left out: it cannot be said so. */
  readonly shell?: ShellRule;
};
/** `pattern`: a POSIX extended regular expression for the whole text. */
export type ShellRule = { requirement: string } & (
  | { kind: 'pattern'; pattern: string; isAnyCase: boolean }
  | { kind: 'number'; isWhole: boolean; least: number; most: number }
);
export type Checked<T> = { ok: true; value: T } | { ok: false; must: string };
export type CheckContext = { homeDirectory: string };

export type Environment = Readonly<Record<string, string | undefined>>;

/** Null for a variable that is unset and has no default. */
export type Values<V extends Variables> = {
  readonly [Name in keyof V]: V[Name] extends { check: Check<infer T> }
    ? V[Name] extends { required: true } | { default: string }
      ? T
      : T | null
    : never;
};

export type Reading<V extends Variables> = {
  /** Complete only when there are no problems. */
  values: Values<V>;
  /** Each names a variable and its requirement, never its value. In the order of the declarations. */
  problems: string[];
  /** True when the variable is set and not empty. */
  isSet(name: keyof V & string): boolean;
};

/** Groups variables under one heading in the example and in the table. */
export function group<const V extends Variables>(title: string, variables: V): V {
  return Object.fromEntries(
    Object.entries(variables).map(([name, variable]) => [name, { ...variable, group: title }]),
  ) as V;
}

/** Reads all variables and reports all problems at once. An empty variable counts as unset. Pure. */
export function readVariables<V extends Variables>(
  variables: V,
  env: Environment,
  context: CheckContext = { homeDirectory: '/' },
): Reading<V> {
  const problems: string[] = [];
  const textOf = (name: string): string | null => ownValue(env, name)?.trim() || null;
  const read = ([name, variable]: [string, Variable]): [string, unknown] => {
    const text = textOf(name) ?? variable.default ?? null;
    if (text === null) {
      if (variable.required) problems.push(`${name} must be set`);
      return [name, null];
    }
    const checked = variable.check(text, context);
    if (checked.ok) return [name, checked.value];
    problems.push(`${name} must ${checked.must}`);
    return [name, null];
  };
  const values = Object.fromEntries(Object.entries(variables).map(read)) as Values<V>;
  return { values, problems, isSet: (name) => textOf(name) !== null };
}

/** The values of the secret variables that are set: for the logger to redact. */
export const secretsIn = (variables: Variables, env: Environment): string[] =>
  Object.entries(variables).flatMap(([name, { secret }]) => {
    const value = ownValue(env, name)?.trim();
    return secret && value ? [value] : [];
  });

/** An environment file with every variable: required ones as `NAME=`, the others commented out. */
export function renderExample(heading: string, variables: Variables): string {
  const sections = grouped(variables).map(([title, entries]) => {
    const lines = entries.flatMap(([name, variable]) => [
      ...wrap(helpOf(variable), 100).map((line) => `# ${line}`),
      `${variable.required ? '' : '#'}${name}=${variable.default ?? variable.example ?? ''}`,
    ]);
    return [`## ${title}`, ...lines].join('\n');
  });
  const head = wrap(heading, 100).map((line) => `# ${line}`);
  return `${[head.join('\n'), ...sections].join('\n\n')}\n`;
}

/** A Markdown table for each group: variable, default, meaning. */
export function renderTables(variables: Variables): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|');
  const rowOf = ([name, variable]: [string, Variable]): string => {
    const usual = variable.default === undefined ? cell(variable.otherwise ?? '') : `\`${variable.default}\``;
    const marks = [variable.required ? 'Required.' : '', variable.secret ? 'Secret.' : ''].join(' ').trim();
    const about = [variable.help, requirementOf(variable.check), marks].filter((text) => text !== '').join(' ');
    return `| \`${name}\` | ${usual} | ${cell(about)} |`;
  };
  return grouped(variables)
    .map(([title, entries]) =>
      [`### ${title}`, '', '| Variable | Default | Meaning |', '| --- | --- | --- |', ...entries.map(rowOf)].join('\n'),
    )
    .join('\n\n');
}

function grouped(variables: Variables): [string, [string, Variable][]][] {
  const groups = Map.groupBy(Object.entries(variables), ([, variable]) => variable.group ?? 'Others');
  return [...groups];
}

function helpOf(variable: Variable): string {
  const otherwise = variable.otherwise === undefined ? '' : ` Unset: ${variable.otherwise}.`;
  return `${variable.help}${otherwise} ${requirementOf(variable.check)}`.trim();
}

/** The requirement, which the check returns for an invalid value. */
function requirementOf(check: Check<unknown>): string {
  const checked = check('\0'.repeat(5000), { homeDirectory: '/' });
  return checked.ok ? '' : `Must ${checked.must}.`;
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
