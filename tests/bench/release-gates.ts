/**
 * How many bad releases an update catches, and how many good ones it refuses: Station, `docker compose up --wait` with a health check, and Podman's
 * auto-update. The releases are those of `npm run e2e -- bad-releases`.
 */
import { parseArgs } from 'node:util';
import { badOfForeign, goodOfForeign } from '../e2e/bad-releases/foreign-releases.ts';
import { badOfHome, goodOfHome, moreBadOfHome, moreGoodOfHome } from '../e2e/bad-releases/home-releases.ts';
import { lateReleases } from '../e2e/bad-releases/late-releases.ts';
import { type Changes, firstVersion, type GoodRelease } from '../e2e/bad-releases/offered.ts';
import { buildForTests } from '../rig/build.ts';
import { serviceFiles } from '../rig/small-images.ts';
import { composeOfForeign, composeOfHome } from './gates/compose-gate.ts';
import { type Column, columns, type Gate, type Verdict } from './gates/gate.ts';
import { podmanOfForeign, podmanOfHome } from './gates/podman-gate.ts';
import { foreignStation, foreignStationInProbation, stationOfHome } from './gates/station-gate.ts';

const goal = 1;
const { values } = parseArgs({
  options: { stack: { type: 'string', multiple: true }, release: { type: 'string', default: '' } },
});

type Release = readonly [...release: GoodRelease, ...why: unknown[]];

type Group = {
  stack: string;
  gates: readonly (() => Gate | Promise<Gate>)[];
  bad: readonly Release[];
  good: readonly Release[];
};

const late = lateReleases.map(([name, behaviour]): GoodRelease => {
  const files = serviceFiles({ version: firstVersion, behaviour, repository: 'station/backend' });
  return [name, () => ({ backend: { files } })];
});

const groups: readonly Group[] = [
  {
    stack: 'foreign',
    gates: [foreignStation, composeOfForeign, podmanOfForeign],
    bad: badOfForeign,
    good: goodOfForeign,
  },
  { stack: 'late', gates: [foreignStationInProbation, composeOfForeign, podmanOfForeign], bad: late, good: [] },
  {
    stack: 'home',
    gates: [stationOfHome, composeOfHome, podmanOfHome],
    bad: [...badOfHome, ...moreBadOfHome],
    good: [...goodOfHome, ...moreGoodOfHome],
  },
];

type Row = { stack: string; kind: 'bad' | 'good'; name: string; verdicts: Partial<Record<Column, Verdict>> };

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const rowOf = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const lineOf = ({ stack, kind, name, verdicts }: Row): string =>
  rowOf([stack, kind, name, ...columns.map((column) => verdicts[column] ?? 'not run')]);

async function judgeAll({ stack, gates, bad, good }: Group): Promise<Row[]> {
  // All before the first is judged: a list that does not fit the web app any more fails at once.
  const releases = await Promise.all([...bad.map(makeOf('bad')), ...good.map(makeOf('good'))]);
  await using life = new AsyncDisposableStack();
  const opened: Gate[] = [];
  for (const open of gates) opened.push(life.use(await open()));
  const rows: Row[] = [];
  for (const { kind, name, changes } of releases.filter((one) => one.name.includes(values.release))) {
    const verdicts: Row['verdicts'] = {};
    for (const one of await Promise.allSettled(opened.map((gate) => gate.judge(changes)))) {
      if (one.status === 'fulfilled') Object.assign(verdicts, one.value);
      else process.stderr.write(`${name}: ${String(one.reason)}\n`);
    }
    const row = { stack, kind, name, verdicts };
    rows.push(row);
    print(lineOf(row));
  }
  return rows;
}

const makeOf =
  (kind: Row['kind']) =>
  async ([name, make]: Release): Promise<{ kind: Row['kind']; name: string; changes: Changes }> => ({
    kind,
    name,
    changes: await make(),
  });

async function main(): Promise<boolean> {
  const chosen = groups.filter(({ stack }) => values.stack === undefined || values.stack.includes(stack));
  await buildForTests('agent', 'backend', 'web');
  const rows: Row[] = [];
  for (const group of chosen) rows.push(...(await judgeAll(group)));
  const count = (kind: Row['kind'], column: Column): number =>
    rows.filter(({ kind: of, verdicts }) => of === kind && verdicts[column] === 'caught').length;
  const caught = Object.fromEntries(columns.map((column) => [column, count('bad', column)]));
  const falseAlarms = Object.fromEntries(columns.map((column) => [column, count('good', column)]));
  print('');
  print(rowOf(['Stack', 'Release', 'Name', ...columns]));
  print(rowOf(Array.from({ length: columns.length + 3 }, () => '---')));
  for (const row of rows) print(lineOf(row));
  const bad = rows.filter(({ kind }) => kind === 'bad').length;
  const notRun = rows.flatMap(({ verdicts }) => columns.filter((column) => verdicts[column] === undefined)).length;
  const [, ...others] = columns.map((column) => count('bad', column));
  const value = count('bad', 'Station');
  const ratio = value === 0 ? null : Math.max(...others) / value;
  const isRight = value === bad && count('good', 'Station') === 0 && notRun === 0;
  const ok = isRight && ratio !== null && ratio <= goal;
  const totals = { bad, good: rows.length - bad, notRun, caught, falseAlarms };
  print(JSON.stringify({ bench: 'release-gates', value, unit: 'releases', ratio, goal, ok, ...totals }));
  return ok;
}

process.exitCode = (await main()) ? 0 : 1;
