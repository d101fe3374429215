import { radioStates, type RadioState } from '@station/protocol/ble-frames';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { encodeQR } from 'qr';
import { escapeHtml, htmlPage } from '../releases/html-page.ts';
import { noFaults } from './peripheral-plan.ts';
import type { Peripheral, PeripheralReport } from './peripheral.ts';
import type { VirtualRadio } from './radio.ts';
import type { UnknownDevices } from './unknown-devices.ts';

const adapterButtons: Record<RadioState, { button: string; now: string }> = {
  ready: { button: 'Make the Bluetooth adapter work again', now: 'works' },
  adapter_missing: { button: 'Unplug the Bluetooth adapter', now: 'is unplugged' },
  adapter_off: { button: 'Switch the adapter off', now: 'is switched off' },
  adapter_blocked: { button: 'Block the adapter (as rfkill or flight mode does)', now: 'is blocked' },
  bluetooth_stopped: { button: 'Stop the Bluetooth service', now: 'has no running Bluetooth service' },
};

const shares = [0, 20, 50, 100] as const;

/** GET: the page, or JSON for a program. The buttons are POSTs, which answer the same. */
export function serveRadioControl(
  app: FastifyInstance,
  parts: { radio: VirtualRadio; unknownDevices: UnknownDevices },
): void {
  const { radio, unknownDevices } = parts;
  app.get('/radio', async (request, reply) => {
    void reply.header(
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'",
    );
    void reply.header('cache-control', 'no-store');
    return wantsPage(request) ? reply.type('text/html').send(page(parts)) : view(parts);
  });
  app.get('/radio/labels/:address', async (request, reply) => {
    const { address } = request.params as { address: string };
    const plan = radio.peripherals.map((each) => each.report().plan).find((each) => each.address === address);
    if (plan === undefined) return reply.code(404).send('There is no such device.\n');
    return reply.type('image/gif').send(Buffer.from(encodeQR(plan.name, 'gif', { scale: 6 })));
  });
  const post = <P extends object>(path: string, act: (params: P) => unknown): void => {
    app.post(`/radio/${path}`, async (request, reply) => {
      const outcome = await act(request.params as P);
      if (outcome === 'unknown') return reply.code(404).send('There is no such thing.\n');
      return answer(request, reply, view(parts));
    });
  };
  post<{ state: string }>('adapter/:state', ({ state }) => {
    const known = radioStates.find((each) => each === state);
    return known === undefined ? 'unknown' : radio.setAdapter(known);
  });
  post<{ percent: string }>('disconnects/:percent', ({ percent }) =>
    /^\d{1,3}$/.test(percent) ? radio.setDisconnectShare(Math.min(1, Number(percent) / 100)) : 'unknown',
  );
  post('helper/crash', () => radio.crashHelper());
  post('unknown-devices', () => unknownDevices.connect());
  post<{ address: string; action: string }>('devices/:address/:action', ({ address, action }) => {
    const device = radio.peripherals.find((each) => each.report().plan.address === address);
    const act = deviceActions[action];
    return device === undefined || act === undefined ? 'unknown' : act(device);
  });
}

const deviceActions: Partial<Record<string, (device: Peripheral) => unknown>> = {
  reset: (device) => device.reset(),
  'carry-away': (device) => device.setFaults({ isOutOfRange: true }),
  'bring-back': (device) => device.setFaults({ isOutOfRange: false }),
  'lose-wifi': (device) => device.setFaults({ isWithoutWifi: true }),
  'find-wifi': (device) => device.setFaults({ isWithoutWifi: false }),
  'refuse-connections': (device) => device.setFaults({ refusesConnections: true }),
  'take-connections': (device) => device.setFaults({ refusesConnections: false }),
  'write-slowly': (device) => device.setFaults({ writeMs: 40_000 }),
  'write-quickly': (device) => device.setFaults({ writeMs: noFaults.writeMs }),
};

const view = ({ radio, unknownDevices }: { radio: VirtualRadio; unknownDevices: UnknownDevices }): object => ({
  adapter: radio.adapter(),
  helpers: radio.helpers(),
  networks: radio.networks,
  unknownDevices: unknownDevices.ids(),
  devices: radio.peripherals.map((each) => {
    const { plan, ...report } = each.report();
    const { address, name, label, type, protocol } = plan;
    return { address, name, label, type, protocol, isHeard: each.isHeard(), ...report };
  }),
});

function page({ radio, unknownDevices }: { radio: VirtualRadio; unknownDevices: UnknownDevices }): string {
  const adapter = radio.adapter();
  const { connected, scanning } = radio.helpers();
  const scan = connected === 0 ? 'The station does not use it now.' : scanning > 0 ? 'The station scans.' : 'No scan.';
  const adapterForms = radioStates
    .filter((state) => state !== adapter)
    .map((state) => button(`/radio/adapter/${state}`, adapterButtons[state].button));
  const networks = radio.networks.map(
    ({ ssid, password }) => `“${escapeHtml(ssid)}”, password “${escapeHtml(password)}”`,
  );
  return htmlPage(
    'New devices and radio',
    `<p>Virtual devices that wait to be added, and the station's Bluetooth. Add them in the station's page: “Add device”.
<p>The only Wi-Fi that reaches them: ${networks.join('; ')}.
<p role="status"${adapter === 'ready' ? '' : ' class="off"'}>The Bluetooth adapter ${adapterButtons[adapter].now}. ${scan}
<h2>Devices</h2>
${radio.peripherals.map(deviceSection).join('\n')}
<h2>A device that nobody added</h2>
${button('/radio/unknown-devices', 'Let an unknown device connect')}
<p>It has a login that the station does not know, as the device of a neighbour. ${
      unknownDevices.ids().length === 0 ? '' : `So far: ${unknownDevices.ids().map(escapeHtml).join(', ')}.`
    }
<h2>Adapter</h2>
<div class="row">${adapterForms.join('\n')}</div>
<h2>Faults</h2>
<p>Share of connections that break before a write is complete:
<div class="row">${shares.map((share) => button(`/radio/disconnects/${share}`, `${share} %`)).join('\n')}</div>
${button('/radio/helper/crash', 'Crash the helper program')}
<p>The station starts it again.`,
  );
}

function deviceSection(device: Peripheral): string {
  const report = device.report();
  const { plan, faults, lastFailure, pageUrl } = report;
  const actions: [action: string, text: string][] = [
    ['reset', 'Reset it with its button'],
    ...(plan.protocol === 'page'
      ? []
      : [
          faults.isOutOfRange
            ? (['bring-back', 'Bring it back'] as [string, string])
            : (['carry-away', 'Carry it out of range'] as [string, string]),
        ]),
    faults.isWithoutWifi ? ['find-wifi', 'Let Wi-Fi reach it'] : ['lose-wifi', 'Take its Wi-Fi away'],
    faults.refusesConnections
      ? ['take-connections', 'Let it take connections']
      : ['refuse-connections', 'Let it refuse connections'],
  ];
  return `<h3>${escapeHtml(plan.label)}</h3>
<p>${escapeHtml(plan.name === '' ? '(no name)' : plan.name)}, ${plan.address}, ${escapeHtml(plan.type)}: <strong>${stateText(report)}</strong>${
    lastFailure === null ? '' : ` ${escapeHtml(lastFailure)}`
  }
${plan.protocol === 'page' ? `<p>Its label: <img src="/radio/labels/${plan.address}" alt="QR code: ${escapeHtml(plan.name)}">` : ''}
${pageUrl === null ? '' : `<p>Its own page: <a href="${pageUrl}">${pageUrl}</a>`}
<div class="row">${actions.map(([action, text]) => button(`/radio/devices/${plan.address}/${action}`, text)).join('\n')}</div>`;
}

function stateText({ state, isAccepted, faults }: PeripheralReport): string {
  if (state === 'waiting') return faults.isOutOfRange ? 'out of range.' : 'waits to be added.';
  if (state === 'joining') return 'joins the Wi-Fi.';
  if (state === 'page') return 'waits for its login in its own page.';
  return isAccepted ? 'online.' : 'connects to the station.';
}

const button = (action: string, text: string): string =>
  `<form method="post" action="${action}"><button>${text}</button></form>`;

const wantsPage = (request: FastifyRequest): boolean => request.headers.accept?.includes('text/html') ?? false;

const answer = (request: FastifyRequest, reply: FastifyReply, body: object): FastifyReply =>
  wantsPage(request) ? reply.redirect('/radio', 303) : reply.send(body);
