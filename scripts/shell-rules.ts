// The checks of the declared variables as a function of install.sh, so that an answer file is refused for what a program would refuse.
import type { ShellRule, Variables } from '../packages/kit/src/env-config.ts';
import { longestWifiPassword, passphraseBytes, wifiKeyDigits } from '../packages/protocol/src/wifi-password.ts';

const begin = '# Begin of what npm run generate writes from the declared variables: do not edit.';
const end = '# End of what npm run generate writes.';

/** @param script install.sh. @param declared the first that declares a name counts. */
export function withShellRules(script: string, ...declared: readonly Variables[]): string {
  const [head = '', rest = ''] = script.split(`${begin}\n`);
  const [, tail] = rest.split(`${end}\n`);
  if (tail === undefined) throw new Error('install.sh has no place for the generated rules');
  const rules = functionOf(Object.assign({}, ...declared.toReversed()) as Variables);
  return `${head}${begin}\n${rules}\n${wifiPasswordFunction()}${end}\n${tail}`;
}

function functionOf(variables: Variables): string {
  const names = Map.groupBy(
    Object.entries(variables).flatMap(([name, { check }]) =>
      check.shell ? [{ name, line: lineOf(check.shell) }] : [],
    ),
    ({ line }) => line,
  );
  const cases = [...names].map(([line, those]) => `\t${those.map(({ name }) => name).join(' | ')}) ${line} ;;`);
  return ['declared_problem() {', '\tcase $1 in', ...cases, '\tesac', '}', ''].join('\n');
}

function lineOf(rule: ShellRule): string {
  const problem = `echo ${quoted(`must ${rule.requirement}`)}`;
  if (rule.kind === 'number') {
    const digits = rule.isWhole ? '[0-9]{1,15}' : '[0-9]{1,9}(\\.[0-9]{1,9})?';
    return `is_number "$2" ${quoted(digits)} ${rule.least} ${rule.most} || ${problem}`;
  }
  return `${rule.isAnyCase ? 'matches_any_case' : 'matches'} "$2" ${quoted(rule.pattern)} || ${problem}`;
}

/** `wifiPasswordProblem` of the protocol, for a password that is not empty. */
function wifiPasswordFunction(): string {
  const { least, most } = passphraseBytes;
  const range = `${least} to ${most} bytes in UTF-8`;
  return [
    '# $1: security; empty: not known. $2: password.',
    'wifi_password_problem() {',
    '\tbytes=$(printf %s "$2" | wc -c) printable=$(printf %s "$2" | tr -d \'\\001-\\037\\177\' | wc -c)',
    '\tcase $1 in',
    "\topen | owe) echo 'must be empty for an open network' ;;",
    '\twpa2)',
    `\t\tif matches "$2" '[0-9a-fA-F]{${wifiKeyDigits}}'; then return; fi`,
    `\t\tif [ "$bytes" -lt ${least} ] || [ "$bytes" -gt ${most} ]; then echo ${quoted(`must have ${range}, or ${wifiKeyDigits} hexadecimal digits, for a network with WPA2`)}`,
    '\t\telif [ "$printable" != "$bytes" ]; then echo \'must have no control characters\'; fi',
    '\t\t;;',
    `\t*) [ "$bytes" -le ${longestWifiPassword} ] || echo ${quoted(`must have at most ${longestWifiPassword} bytes in UTF-8`)} ;;`,
    '\tesac',
    '}',
    '',
  ].join('\n');
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
