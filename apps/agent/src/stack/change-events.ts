import type { AgentLogger } from '@station/kit/logger';
import type { HistoryEntry } from '@station/protocol/agent-api';
import type { Journal, OperationRecord } from './journal.ts';
import type { Watch } from './stack-facts.ts';
import { type Change, isImageChange } from './operation-decide.ts';

type Context = { before: Journal; after: Journal; watch: Watch | null; nowMs: number; durationMs: number };

/** Logs the events of a journal change, after the change is on disk. */
export function reportChange(logger: AgentLogger, change: Change, context: Context): void {
  const { before, after, watch } = context;
  if (change.kind === 'begin' && after.operation) return reportBegin(logger, after.operation);
  if (change.kind === 'note') return reportNote(logger, change.entry);
  const operation = before.operation;
  if (!operation || change.kind === 'forget_images' || isImageChange(change)) return;
  if (watch && watch.attempts > 0) reportHealth(logger, change, watch, context.nowMs);
  if (after.operation && after.operation.phase !== operation.phase) {
    const { id, kind, phase, to } = after.operation;
    logger.event('update_phase', { operationId: id, kind, phase, version: to.version });
  }
  if (change.kind === 'revert') {
    const { from, to } = operation;
    logger.event('rollback_started', { from: to.version, to: from?.version ?? null, reason: change.failure.reason });
  }
  if (!after.operation) reportEnd(logger, change, operation, context);
}

function reportNote(logger: AgentLogger, { kind, code, reason, from, to }: HistoryEntry): void {
  if (kind === 'rollback') logger.event('rollback_failed', { from, to, reason: reason ?? '' });
  else logger.event('update_failed', { code: code ?? 'internal', reason: reason ?? '', version: to });
}

function reportBegin(logger: AgentLogger, operation: OperationRecord): void {
  const { id, kind, phase, trigger, from, to } = operation;
  const currentVersion = from?.version ?? null;
  if (kind === 'update') {
    logger.event('update_start', { currentVersion, requestedVersion: to.version, images: to.images, trigger });
  } else if (kind === 'rollback') {
    logger.event('rollback_started', {
      from: currentVersion,
      to: to.version,
      reason: operation.because?.reason ?? 'asked for',
    });
  } else {
    logger.event('bootstrap_start', { currentVersion, reason: 'the stack is to run' });
  }
  logger.event('update_phase', { operationId: id, kind, phase, version: to.version });
}

function reportHealth(logger: AgentLogger, change: Change, watch: Watch, nowMs: number): void {
  const durationMs = Math.round(nowMs - watch.startedMs);
  const common = { status: watch.lastStatus, attempts: watch.attempts, durationMs };
  if (change.kind === 'complete' || change.kind === 'reverted') {
    logger.event('healthcheck_passed', { ...common, reason: null });
  } else if (change.kind === 'revert' || change.kind === 'fail') {
    logger.event('healthcheck_failed', { ...common, reason: change.failure.reason });
  }
}

function reportEnd(logger: AgentLogger, change: Change, operation: OperationRecord, context: Context): void {
  const { after } = context;
  const currentVersion = after.installed?.version ?? null;
  const entry = after.history[0];
  if (operation.kind === 'bootstrap' && change.kind === 'complete') {
    logger.event('bootstrap_done', { currentVersion, durationMs: context.durationMs });
    return;
  }
  if (!entry || entry.id !== operation.id) return;
  const { durationMs, downtimeMs } = entry;
  if (change.kind === 'complete' && operation.kind === 'update') {
    logger.event('update_completed', { currentVersion, durationMs, downtimeMs });
  } else if (change.kind === 'complete' || change.kind === 'reverted') {
    logger.event('rollback_completed', { currentVersion, durationMs, downtimeMs });
  } else if (change.kind === 'fail') {
    const { code, reason } = change.failure;
    const reverting = operation.phase === 'reverting' || operation.phase === 'verifying_revert';
    if (reverting)
      logger.event('rollback_failed', { from: operation.to.version, to: operation.from?.version ?? null, reason });
    else logger.event('update_failed', { code, reason, version: operation.to.version });
  }
  const quarantined = after.quarantined[0];
  if (quarantined && quarantined.at === entry.endedAt) {
    logger.event('release_quarantined', { version: quarantined.version, reason: quarantined.reason });
  }
}
