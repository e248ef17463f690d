"""A run that is killed again and again ends with the weights of one that is not."""

from benchmarks import kill_and_resume


def test_kills_change_no_bit(project, flags, tmp_path):
    command = flags(
        num_train_steps=300,
        iterations_per_loop=10,
        save_checkpoints_steps=10,
        eval_steps=100,
        deterministic=True,
    )
    report = kill_and_resume.run(command, tmp_path, kills=5, seed=1)
    assert len(report.kill_steps) == 5
    assert report.kill_steps == sorted(report.kill_steps)
    assert 10 <= report.kill_steps[-1] < 300
    assert report.differing == []
    bests = [list(d.glob("checkpoints/best-*")) for d in report.directories]
    assert [path.name for path in bests[0]] == [path.name for path in bests[1]]
    assert len(bests[0]) == 1
