import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { call, startServer, type RunningServer } from '../../testing/running-server.ts';

type Sample = { name: string; labels: Record<string, string>; value: number };

/** Prometheus text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats); throws on what is not. */
function parseMetrics(text: string): { samples: Sample[]; types: Map<string, string> } {
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('# HELP '))) {
    const type = /^# TYPE (\S+) (counter|gauge)$/.exec(line);
    if (type) {
      assert.ok(!types.has(type[1] ?? ''), `twice: ${line}`);
      types.set(type[1] ?? '', type[2] ?? '');
      continue;
    }
    const sample = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    assert.ok(sample && types.has(sample[1] ?? ''), line);
    const labels = [...(sample[2] ?? '').matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, name = '', value = '']) => [name, value.replace(/\\(.)/g, '$1')] as const,
    );
    samples.push({ name: sample[1] ?? '', labels: Object.fromEntries(labels), value: Number(sample[3]) });
  }
  return { samples, types };
}

async function scrape(running: RunningServer) {
  const answer = await call(running.tcp, 'GET', '/metrics');
  assert.equal(answer.status, 200);
  assert.match(answer.headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
  const { samples, types } = parseMetrics(answer.text);
  const value = (name: string, labels: Record<string, string> = {}): number | undefined =>
    samples.find((s) => s.name === name && JSON.stringify(s.labels) === JSON.stringify(labels))?.value;
  return { samples, types, value };
}

describe('GET /metrics', () => {
  it('shows what the agent does and what is wrong', async () => {
    await using running = await startServer();
    const { value, types, samples } = await scrape(running);
    assert.equal(value('station_agent_info', { version: '0.1.0' }), 1);
    assert.equal(value('station_agent_operation', { kind: 'update', phase: 'pulling' }), 1);
    assert.equal(value('station_agent_operation_progress_ratio'), 0.25);
    assert.equal(value('station_agent_condition', { condition: 'engine_unreachable', severity: 'fault' }), 1);
    assert.equal(value('station_agent_release', { version: '1.0.0' }), 1);
    assert.equal(value('station_agent_update_available'), 1);
    assert.equal(value('station_agent_service_running', { service: 'backend' }), 1);
    assert.equal(value('station_agent_service_running', { service: 'proxy' }), 0);
    assert.equal(value('station_agent_last_check_timestamp_seconds'), Date.parse('2026-01-01T00:00:10Z') / 1000);
    assert.ok((value('process_resident_memory_bytes') ?? 0) > 1e6);
    assert.ok((value('process_cpu_seconds_total') ?? 0) > 0);
    for (const { name } of samples) assert.equal(types.get(name) === 'counter', name.endsWith('_total'), name);
  });

  it('shows which firmware is available, which is being fetched, and which is refused', async () => {
    await using running = await startServer();
    const {
      statusNow,
      statusNow: { firmware },
    } = running.agent;
    const lamp = {
      name: 'lamp',
      version: '1.2.3',
      file: 'lamp@1.2.3.bin',
      checksum: `sha256:${'ab'.repeat(32)}`,
      size: 100,
      downloadedAt: '2026-01-01T00:00:00.000Z',
      handedOver: true,
    };
    const progress = { doneBytes: 10, totalBytes: 40, percent: 25 };
    running.agent.statusNow = {
      ...statusNow,
      firmware: {
        ...firmware,
        lastCheckAt: '2026-01-01T00:00:20.000Z',
        items: [lamp, { ...lamp, name: 'climate', handedOver: false }],
        download: { name: 'light', version: '2.0.0', progress },
        refused: [{ name: 'pir', version: null, reason: 'a bootloader' }],
      },
    };
    running.logger.event('firmware_download_done', { name: 'lamp', version: '1.2.3', bytes: 100 });
    running.logger.event('firmware_refused', { name: 'pir', version: null, reason: 'a bootloader' });
    const { value } = await scrape(running);
    assert.equal(value('station_agent_firmware_cached', { name: 'lamp', version: '1.2.3' }), 1);
    assert.equal(value('station_agent_firmware_handed_over', { name: 'lamp' }), 1);
    assert.equal(value('station_agent_firmware_handed_over', { name: 'climate' }), 0);
    assert.equal(value('station_agent_firmware_download_progress_ratio', { name: 'light', version: '2.0.0' }), 0.25);
    assert.equal(value('station_agent_firmware_refused'), 1);
    assert.equal(
      value('station_agent_firmware_last_check_timestamp_seconds'),
      Date.parse('2026-01-01T00:00:20Z') / 1000,
    );
    const downloads = ['done', 'failed', 'refused'].map((result) =>
      value('station_agent_firmware_downloads_total', { result }),
    );
    assert.deepEqual(downloads, [1, 0, 1]);
  });

  it('removes the metrics of what is over', async () => {
    await using running = await startServer();
    await scrape(running);
    const { statusNow } = running.agent;
    running.agent.statusNow = {
      ...statusNow,
      operation: null,
      conditions: [],
      currentVersion: null,
      lastCheckAt: null,
      stack: { services: [] },
    };
    const { samples, value } = await scrape(running);
    const gone = ['operation', 'condition', 'release', 'service_running', 'last_check_timestamp_seconds'];
    assert.deepEqual(
      samples.filter(({ name }) => gone.includes(name.replace('station_agent_', ''))),
      [],
    );
    assert.equal(value('station_agent_operation_progress_ratio'), 0);
  });

  it('counts from the start, and once for each scrape', async () => {
    await using running = await startServer();
    const count = async (result: string) => (await scrape(running)).value('station_agent_operations_total', { result });
    assert.deepEqual([await count('updated'), await count('failed')], [0, 0]);
    const { logger } = running;
    const done = { currentVersion: '1.0.0', durationMs: 1, downtimeMs: null };
    logger.event('update_completed', done);
    logger.event('update_completed', done);
    logger.event('rollback_completed', done);
    logger.event('update_failed', { code: 'image_missing', reason: 'gone', version: '1.0.0' });
    logger.event('rollback_failed', { from: null, to: null, reason: 'gone' });
    logger.event('healthcheck_passed', { status: 200, attempts: 1, durationMs: 1, reason: null });
    logger.event('healthcheck_failed', { status: 500, attempts: 1, durationMs: 1, reason: 'no' });
    logger.event('image_healed', { image: 'web:1', from: 'disk' });
    logger.event('images_not_healed', { images: ['web:1', 'web:2'], reason: 'in_use' });
    logger.event('unexpected_error', { where: 'test', message: 'x' });
    for (let scrapes = 0; scrapes < 2; scrapes += 1) {
      const { value } = await scrape(running);
      const operations = (result: string) => value('station_agent_operations_total', { result });
      assert.deepEqual(
        [operations('updated'), operations('rolled_back'), operations('failed'), operations('rollback_failed')],
        [2, 1, 1, 1],
      );
      assert.equal(value('station_agent_health_checks_total', { verdict: 'passed' }), 1);
      assert.equal(value('station_agent_health_checks_total', { verdict: 'failed' }), 1);
      assert.equal(value('station_agent_damaged_images_total', { result: 'healed' }), 1);
      assert.equal(value('station_agent_damaged_images_total', { result: 'not_healed' }), 2);
      assert.equal(value('station_agent_unexpected_errors_total'), 1);
    }
  });
});
