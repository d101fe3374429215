import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { before, describe, test } from 'node:test';
import { needPackages } from '../rig/debian.ts';
import { tryRun } from '../rig/program.ts';
import { createWorkspace } from '../rig/workspace.ts';

const repository = join(import.meta.dirname, '../..');
/** `systemd-analyze security`: 0 is a service without any access, 10 one without any limit. The agent controls the machine. */
const highestExposure = { 'station-agent.service': 3.0, 'station-bluez.service': 0.5 };

before(() => needPackages(['systemd', 'shellcheck']));

for (const [unitName, highest] of Object.entries(highestExposure)) {
  const unit = join(repository, 'deploy', unitName);
  describe(unitName, () => {
    test('passes systemd-analyze verify', async () => {
      await using workspace = await createWorkspace();
      // The program is not installed on this machine.
      const text = (await readFile(unit, 'utf8')).replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true');
      const copy = join(await workspace.subfolder('unit'), unitName);
      await writeFile(copy, text);
      const { exitCode, stdout, stderr } = await tryRun('systemd-analyze', ['verify', '--man=no', copy]);
      const complaints = `${stdout}${stderr}`
        .split('\n')
        .filter((line) => line.includes(unitName) || line.includes(copy));
      assert.deepEqual({ complaints, exitCode }, { complaints: [], exitCode: 0 }, stderr);
    });

    test(`has an exposure of at most ${highest.toFixed(1)}`, async () => {
      const { stdout } = await tryRun('systemd-analyze', ['security', '--offline=true', '--no-pager', unit]);
      const found = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1];
      assert.ok(found !== undefined, stdout);
      assert.ok(Number(found) <= highest, `exposure ${found}\n${stdout}`);
    });
  });
}

test('every shell script passes ShellCheck, those of the station in POSIX sh', async () => {
  const scripts = await findScripts(['.ci', 'deploy', 'scripts', 'tests']);
  const onStation = scripts.filter(({ path }) => /^deploy\/[^/]+\.sh$/.test(path));
  assert.ok(onStation.length > 0 && scripts.length > onStation.length, 'the scripts were found');
  for (const { path, shell } of onStation) assert.equal(shell, 'sh', path);
  const faults: string[] = [];
  for (const { path, shell } of scripts) {
    const args = ['-s', shell, '--color=never', '--format=gcc', path];
    const { exitCode, stdout, stderr } = await tryRun('shellcheck', args, { cwd: repository });
    if (exitCode !== 0) faults.push(stdout, stderr);
  }
  assert.equal(faults.join(''), '');
});

test('a script of the station that was cut off does nothing', async () => {
  for (const { path } of (await findScripts(['deploy'])).filter(({ path }) => /^deploy\/[^/]+\.sh$/.test(path))) {
    const text = await readFile(join(repository, path), 'utf8');
    assert.match(text, /\nmain "\$@"\n$/, path);
    // Without its last line only functions and constants are left.
    const cut = text.slice(0, text.lastIndexOf('main "$@"'));
    const { exitCode, stdout, stderr } = await tryRun('sh', ['-c', cut]);
    assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: '', stderr: '' }, path);
  }
});

type Script = { path: string; shell: 'sh' | 'bash' };

/** Files whose first line names a shell. */
async function findScripts(folders: readonly string[]): Promise<Script[]> {
  const found: Script[] = [];
  for (const folder of folders) {
    const entries = await readdir(join(repository, folder), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile())) {
      const path = join(entry.parentPath, entry.name);
      const shell = /^#!(?:\/usr)?\/bin\/(?:env )?(sh|bash)\b/.exec(await readFile(path, 'latin1'))?.[1];
      if (shell === 'sh' || shell === 'bash') found.push({ path: relative(repository, path), shell });
    }
  }
  return found;
}
