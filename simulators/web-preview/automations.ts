import type { FastifyInstance } from 'fastify';
import type { Flow, FlowEdge, FlowNode } from '@station/protocol/automation-flow';
import type {
  Automation,
  AutomationPatch,
  AutomationRun,
  NewAutomation,
  RunStep,
  RunSummary,
} from '@station/protocol/automations';
import type { ServerMessage } from '@station/protocol/socket';
import { ago } from './scenes.ts';

export const automationMoods = ['some', 'none', 'fault', 'loading'] as const;
export type AutomationMood = (typeof automationMoods)[number];

const minute = 60_000;
const id = (group: number, number: number): string => `019a9d2f-000${group}-7000-8000-00000000000${number}`;
const failure = { statusCode: 500, error: 'Error', code: 'internal', message: '' };

const [ceiling, climate, , hallSwitch, frontDoor] = [1, 2, 3, 4, 5].map((number) => id(2, number));

/** Nodes of a line, or of a graph with `edges`. */
function flow(parts: readonly [FlowNode['type'], string, object][], edges?: FlowEdge[]): Flow {
  const nodes = parts.map(([type, kind, config], index) => ({
    id: `n${index}`,
    type,
    data: { kind, config: config as Record<string, unknown> },
  }));
  const line = nodes.slice(1).map(({ id: target }, index) => ({ id: `e${index}`, source: `n${index}`, target }));
  return { nodes, edges: edges ?? line };
}

const light = (action: 'turn_on' | 'turn_off' | 'toggle'): [FlowNode['type'], string, object] => [
  'action',
  'device_command',
  { deviceId: ceiling, action },
];

const hall = flow([
  ['trigger', 'device_event_received', { deviceId: hallSwitch, action: 'motion_detected' }],
  ['condition', 'time_range', { from: '21:00', to: '07:00' }],
  light('turn_on'),
  ['action', 'delay', { seconds: 120 }],
  light('turn_off'),
]);
const morning = flow([
  ['trigger', 'schedule', { time: '07:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] }],
  ['action', 'device_command', { deviceId: ceiling, action: 'set_brightness', params: { brightness: 40 } }],
]);
const window = flow([
  ['trigger', 'device_state_changed', { deviceId: climate, capability: 'temperature', operator: 'gt', value: 26 }],
  ['action', 'notify', { message: 'Open the window' }],
]);
const graph = flow(
  [
    ['trigger', 'device_status_changed', { deviceId: frontDoor, status: 'offline' }],
    ['condition', 'state_equals', { deviceId: ceiling, capability: 'on', value: true }],
    light('turn_off'),
    ['action', 'webhook', { url: 'https://hooks.example.org/door' }],
  ],
  [
    { id: 'a', source: 'n0', target: 'n1' },
    { id: 'b', source: 'n1', target: 'n2' },
    { id: 'c', source: 'n1', target: 'n3', sourceHandle: 'false' },
  ],
);
const broken = flow([
  ['trigger', 'device_event_received', { deviceId: id(2, 0), action: 'button_press' }],
  light('toggle'),
]);

const step = (nodeId: string, kind: string, status: RunStep['status'], more: Partial<RunStep> = {}): RunStep => ({
  nodeId,
  kind,
  status,
  startedAt: ago(4 * minute),
  endedAt: ago(4 * minute),
  dueAt: null,
  lateMs: null,
  detail: null,
  seen: null,
  ...more,
});

function run(number: number, automationId: string, more: Partial<AutomationRun>): AutomationRun {
  return {
    id: id(6, number),
    automationId,
    status: 'completed',
    reason: null,
    trigger: { kind: 'device_event_received', nodeId: 'n0', deviceId: hallSwitch ?? null, userId: null, data: {} },
    startedAt: ago(4 * minute),
    endedAt: ago(2 * minute),
    steps: [],
    ...more,
  };
}

const runsOfHall = (automationId: string): AutomationRun[] => [
  run(1, automationId, {
    status: 'waiting',
    startedAt: ago(minute),
    endedAt: null,
    steps: [
      step('n1', 'time_range', 'met'),
      step('n2', 'device_command', 'done'),
      step('n3', 'delay', 'waiting', { dueAt: ago(-minute), endedAt: null }),
    ],
  }),
  run(2, automationId, {
    status: 'failed',
    reason: 'action_failed',
    startedAt: ago(50 * minute),
    endedAt: ago(48 * minute),
    steps: [
      step('n1', 'time_range', 'met'),
      step('n2', 'device_command', 'done'),
      step('n3', 'delay', 'done'),
      step('n4', 'device_command', 'failed', { detail: 'The device is offline.' }),
    ],
  }),
  run(3, automationId, {
    reason: 'conditions_not_met',
    startedAt: ago(300 * minute),
    endedAt: ago(300 * minute),
    steps: [step('n1', 'time_range', 'not_met')],
  }),
  run(4, automationId, {
    status: 'skipped',
    reason: 'rate_limited',
    startedAt: ago(400 * minute),
    endedAt: ago(400 * minute),
  }),
];

function automation(number: number, name: string, of: Flow, more: Partial<Automation> = {}): Automation {
  return {
    id: id(5, number),
    name,
    status: 'published',
    mode: 'restart',
    revision: 1,
    hasUnpublishedChanges: false,
    conditions: [],
    nextRunAt: null,
    lastRun: null,
    createdAt: ago(20 * 24 * 60 * minute),
    updatedAt: ago(2 * 24 * 60 * minute),
    publishedAt: ago(2 * 24 * 60 * minute),
    flow: of,
    publishedFlow: more.status === 'draft' ? null : of,
    faults: [],
    ...more,
  };
}

const withoutSteps = ({ steps: _, ...summary }: AutomationRun): RunSummary => summary;

function someAutomations(): Automation[] {
  const [latest] = runsOfHall(id(5, 1));
  const failed = run(5, id(5, 2), { status: 'failed', reason: 'action_failed', startedAt: ago(7 * 60 * minute) });
  return [
    automation(1, 'Light in the hall at night', hall, { lastRun: latest ? withoutSteps(latest) : null }),
    automation(2, 'Good morning', morning, { nextRunAt: ago(-9 * 60 * minute), lastRun: withoutSteps(failed) }),
    automation(3, 'Too warm', window, { status: 'draft', publishedAt: null }),
    automation(4, 'Front door watch', graph),
    automation(5, 'Button by the bed', broken, {
      conditions: [{ code: 'flow_broken', message: 'The flow no longer fits.' }],
      faults: [
        { severity: 'error', code: 'unknown_device', pointer: '/nodes/0', nodeId: 'n0', message: 'No such device.' },
      ],
    }),
  ];
}

/** The routes of automations. Changes are stored in memory, and runs end immediately. */
export function addAutomations(
  app: FastifyInstance,
  broadcast: (message: ServerMessage) => void,
): { setMood(mood: AutomationMood): void } {
  let mood: AutomationMood = 'some';
  let automations = someAutomations();
  let runs = new Map([[id(5, 1), runsOfHall(id(5, 1))]]);
  const find = (wanted: string): Automation | undefined => automations.find((one) => one.id === wanted);
  const change = (wanted: string, more: Partial<Automation>): Automation | undefined => {
    automations = automations.map((one) => (one.id === wanted ? { ...one, ...more } : one));
    broadcast({ type: 'automation_changed', at: ago(0), automationId: wanted });
    return find(wanted);
  };
  type One = { Params: { id: string } };

  app.get('/api/automations', async (_request, reply) => {
    if (mood === 'loading') await new Promise((resolve) => setTimeout(resolve, 60_000));
    if (mood === 'fault') return reply.code(500).send(failure);
    return automations.map(({ flow: _flow, publishedFlow: _published, faults: _faults, ...summary }) => summary);
  });
  app.get<One>(
    '/api/automations/:id',
    async (request, reply) =>
      find(request.params.id) ?? reply.code(404).send({ ...failure, statusCode: 404, code: 'not_found' }),
  );
  app.post<{ Body: NewAutomation }>('/api/automations', async (request, reply) => {
    const { name, mode: runMode = 'restart', flow: wanted = { nodes: [], edges: [] } } = request.body;
    const made = automation(automations.length + 1, name, wanted, {
      status: 'draft',
      publishedAt: null,
      mode: runMode,
    });
    automations = [...automations, made];
    return reply.code(201).send(made);
  });
  app.patch<One & { Body: AutomationPatch }>('/api/automations/:id', (request) => {
    const { name, mode: runMode, flow: wanted } = request.body;
    const before = find(request.params.id);
    return change(request.params.id, {
      ...(name !== undefined && { name }),
      ...(runMode !== undefined && { mode: runMode }),
      ...(wanted !== undefined && { flow: wanted }),
      revision: (before?.revision ?? 0) + 1,
      hasUnpublishedChanges: before?.status === 'published',
    });
  });
  app.post<One>('/api/automations/:id/publish', (request) =>
    change(request.params.id, {
      status: 'published',
      publishedAt: ago(0),
      hasUnpublishedChanges: false,
      publishedFlow: find(request.params.id)?.flow ?? null,
    }),
  );
  app.post<One>('/api/automations/:id/draft', (request) =>
    change(request.params.id, { status: 'draft', publishedFlow: null, publishedAt: null }),
  );
  app.delete<One>('/api/automations/:id', async (request, reply) => {
    automations = automations.filter((one) => one.id !== request.params.id);
    return reply.code(204).send();
  });
  app.post<One>('/api/automations/:id/run', async (request, reply) => {
    const before = runs.get(request.params.id) ?? [];
    const made = run(before.length + 5, request.params.id, {
      trigger: { kind: 'manual', nodeId: null, deviceId: null, userId: null, data: {} },
      startedAt: ago(0),
      endedAt: ago(0),
      steps: (find(request.params.id)?.flow.nodes ?? [])
        .filter(({ type }) => type === 'action')
        .map(({ id: nodeId, data }) => step(nodeId, data.kind, 'done')),
    });
    runs.set(request.params.id, [made, ...before]);
    change(request.params.id, { lastRun: withoutSteps(made) });
    return reply.code(202).send(withoutSteps(made));
  });
  app.get<One>('/api/automations/:id/runs', async (request) => runs.get(request.params.id) ?? []);

  return {
    setMood: (next) => {
      mood = next;
      automations = next === 'none' ? [] : someAutomations();
      runs = new Map([[id(5, 1), runsOfHall(id(5, 1))]]);
    },
  };
}
